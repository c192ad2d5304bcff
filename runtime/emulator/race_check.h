// Happens-before races on shared and global memory: each granule remembers who wrote and read it last and when, in the clocks of the
// agents, and an access that does not know of an earlier one that conflicts with it is a race.
#pragma once
#include <cstddef>

#include "runtime/emulator/machine.h"

namespace tilewright::rt::emulator {

struct Places;

/// Who accesses: an agent of `owner` at an epoch of its own, for an instruction of a warp, knowing what `view` says.
struct Accessor {
  Warp* warp;
  const Instruction* instruction;
  int agent;
  u32 epoch;
  const Block* owner;
  const View* view;             // of the warp
  const AsyncViews* async;      // of the warp, for an access through the asynchronous proxy: all that it may rely on of earlier writes
                                // through the generic one. Null: a generic access
  bool is_on_mbarrier = false;  // an operation on the object that is there
};

inline Accessor accessor_of(Warp& warp, const Instruction& instruction) {
  return {&warp, &instruction, warp.index, warp.epoch, warp.block, &warp.view, nullptr};
}
/// An engine's access at its epoch, as of now.
inline Accessor engine_of(Warp& warp, const Instruction& instruction, const Block& owner, int agent, u32 epoch) {
  return {&warp, &instruction, agent, epoch, &owner, &warp.view, is_async_proxy(agent) ? &warp.async : nullptr};
}

/// A lane's read of `bytes` at an offset of a block's shared memory; also finds bytes that nobody wrote.
void check_shared_read(const Accessor&, Block&, int lane, u64 offset, int bytes);
/// A lane's write. `value` is what it writes, null if that is not known: a second write of the same value harms nobody.
void check_shared_write(const Accessor&, Block&, int lane, u64 offset, int bytes, const std::byte* value);
/// The same for global memory within `range`.
void check_global_read(const Accessor&, int lane, const Range& range, u64 address, int bytes);
void check_global_write(const Accessor&, int lane, const Range& range, u64 address, int bytes, const std::byte* value);

/// Makes what these lanes know of their own block a part of what the warp would tell other blocks.
void learn_own(Warp&, Mask lanes);
/// Lets the warp know what warps of other blocks do.
void take_view(Warp&, const View&, const AsyncViews&);
/// What these lanes of the warp know, for others to take; their later accesses are not covered.
Knowledge publish(Warp&, Mask lanes, bool whole_gpu);
/// Lets the warp know what was released, as far as the scope reaches.
void take_knowledge(Warp&, const Knowledge&, bool whole_gpu);
/// What a strong write of these lanes that is about to be done releases: all that is known, or what was at the last fence.
Knowledge released_by(Warp&, const Instruction&, Mask lanes);
/// Whoever reads the lane's place may take it. A plain store ends what earlier writes released there; atomics add to it.
void release_through(Warp&, const Knowledge&, const Places&, int lane, bool replaces);
/// A strong read of the lane's place is done: takes what was released there, now or at the next fence.
void acquire_through(Warp&, const Instruction&, const Places&, int lane);

}  // namespace tilewright::rt::emulator
