// Remote accesses are accesses to a block's shared memory by other blocks of its cluster. All of them must happen before the block ends,
// because its memory ends with it.
#pragma once
#include "runtime/emulator/state/remote_access.h"

namespace tilewright::rt::emulator {

struct Accessor;
struct Block;

/// Records an access by the accessor's lane to the memory of another block.
void remember_remote(RemoteAccesses&, const Accessor&, int lane, u64 phase = 0);
/// Reports the remote accesses after which the end of this block is not ordered: those that no thread of the block has acquired,
/// and operations on mbarriers in phases for which no thread of the block has waited. Requires: all warps of the block have
/// finished.
void check_remote_accesses(Block& ended);

}  // namespace tilewright::rt::emulator
