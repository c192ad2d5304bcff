// Remote accesses: those to a block's shared memory by other blocks of its cluster. All of them have to happen before the block ends,
// because its memory ends with it.
#pragma once
#include "runtime/emulator/state/remote_access.h"

namespace tilewright::rt::emulator {

struct Accessor;
struct Block;

/// Remembers an access of the accessor's lane to memory of a block that is not the accessor's.
void remember_remote(RemoteAccesses&, const Accessor&, int lane, u64 phase = 0);
/// Reports the remote accesses that the end of this block is not ordered after: those that no thread of the block has acquired, and
/// operations on mbarriers in phases that no thread of the block has waited for. Requires: all warps of the
/// block have finished.
void check_remote_accesses(Block& ended);

}  // namespace tilewright::rt::emulator
