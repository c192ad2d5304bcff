// Release and acquire patterns (PTX ISA, "Release and Acquire Patterns"): the clocks that a warp releases to others, and those that it
// acquires from others.
#pragma once
#include "runtime/emulator/races/request.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Adds the accesses of these lanes to the clocks that the warp releases to other blocks.
void publish_own(Warp&, Mask lanes);
/// Returns all that these lanes have done and acquired, for others to acquire; the lanes' later accesses have a new time.
ReleaseClocks release(Warp&, Mask lanes, bool whole_gpu);
/// Makes the warp acquire the clocks that warps of other blocks have published.
void acquire(Warp&, const AcquireClocks&, const ProxyClocks&);
/// Makes the warp acquire released clocks, as far as the scope reaches.
void acquire(Warp&, const ReleaseClocks&, bool whole_gpu);
/// The clocks that a strong write by these lanes releases: for a release all clocks, for a relaxed write those of the last fence.
ReleaseClocks released_by(Warp&, const Instruction&, Mask lanes);
/// Releases clocks at the lane's location, for threads that read it. `replaces`: a plain store, which ends the effect of earlier releases
/// there; atomics add to them.
void release_through(Warp&, const ReleaseClocks&, const Request&, int lane, bool replaces);
/// A strong read of the lane's location: an acquire takes the clocks released there, a relaxed read leaves them for the next fence.
void acquire_through(Warp&, const Instruction&, const Request&, int lane);

}  // namespace tilewright::rt::emulator
