// Accesses to a block's shared memory by the other blocks of its cluster, all of which have to be over when the block ends: the memory is
// gone then.
#pragma once
#include <map>

#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

struct Accessor;
struct Block;
struct Warp;

/// The last access of one lane of a warp or engine. Knowing of it is knowing of all earlier ones, since epochs only grow.
struct RemoteAccess {
  Warp* warp = nullptr;  // that executed the instruction
  u32 instruction = 0;
  int lane = 0;
  u64 stamp = 0;
  u64 phase = 0;  // of an operation on an mbarrier: the phase that it is a part of
};
/// By block, agent and lane.
using RemoteAccesses = std::map<u64, RemoteAccess>;

/// Remembers an access of the accessor's lane to memory of a block that is not the accessor's.
void remember_remote(RemoteAccesses&, const Accessor&, int lane, u64 phase = 0);
/// Reports the remote accesses that the end of this block is not ordered after. Nothing but happens-before counts: what a thread of the
/// block knows when it exits, and operations on mbarriers in phases that a thread of the block has waited for. Requires: all warps of the
/// block have finished.
void check_remote_accesses(Block& ended);

}  // namespace tilewright::rt::emulator
