// Accesses to a block's shared memory by the other blocks of its cluster, all of which have to be over when the block ends: the memory is
// gone then.
#pragma once
#include "runtime/emulator/state/remote_access.h"

namespace tilewright::rt::emulator {

struct Accessor;
struct Block;

/// Remembers an access of the accessor's lane to memory of a block that is not the accessor's.
void remember_remote(RemoteAccesses&, const Accessor&, int lane, u64 phase = 0);
/// Reports the remote accesses that the end of this block is not ordered after. Nothing but happens-before counts: what a thread of the
/// block knows when it exits, and operations on mbarriers in phases that a thread of the block has waited for. Requires: all warps of the
/// block have finished.
void check_remote_accesses(Block& ended);

}  // namespace tilewright::rt::emulator
