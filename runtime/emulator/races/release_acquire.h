// Release and acquire patterns (PTX ISA, "Release and Acquire Patterns"): what a warp makes available to others, and what it takes from
// them.
#pragma once
#include "runtime/emulator/races/request.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Makes the accesses of these lanes a part of what the warp releases to other blocks.
void publish_own(Warp&, Mask lanes);
/// All that these lanes did and acquired, for others to acquire; their later accesses are at a new time.
ReleaseClocks release(Warp&, Mask lanes, bool whole_gpu);
/// Lets the warp acquire what warps of other blocks have published.
void acquire(Warp&, const AcquireClocks&, const ProxyClocks&);
/// Lets the warp acquire what was released, as far as the scope reaches.
void acquire(Warp&, const ReleaseClocks&, bool whole_gpu);
/// What a strong write by these lanes releases: a release all of it, a relaxed write what the last fence released.
ReleaseClocks released_by(Warp&, const Instruction&, Mask lanes);
/// Releases clocks at the lane's location, for threads that read it. `replaces`: a plain store, which ends what earlier writes released
/// there; atomics add to it.
void release_through(Warp&, const ReleaseClocks&, const Request&, int lane, bool replaces);
/// A strong read of the lane's location: an acquire takes what was released there, a relaxed read leaves it to the next fence.
void acquire_through(Warp&, const Instruction&, const Request&, int lane);

}  // namespace tilewright::rt::emulator
