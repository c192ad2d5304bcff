// The engines of bulk copies: what a copy reads and writes, checked when it begins and done when the schedule says.
#pragma once
#include <optional>
#include <vector>

#include "runtime/emulator/async/copy_pieces.h"
#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

/// What is done with what memory holds; without it, the copy replaces that.
struct Reduction {
  u32 update = 0;  // of atomic_update()
  int bytes = 0;   // an element
};

/// A lane's copy.
struct BulkCopy {
  Warp& warp;
  const Instruction& instruction;
  int lane;
  CopyPieces pieces;
  u64 fill = 0;        // repeated, what loads write outside of the tensor
  int fill_bytes = 1;  // of it
  std::optional<Reduction> reduction = std::nullopt;
};

/// A block and an offset in its shared memory.
struct SharedLocation {
  Block* block = nullptr;
  u64 offset = 0;
};

/// Where a lane's address of shared memory points, if `bytes` bytes are there and it is a multiple of `align`; a diagnostic otherwise.
std::optional<SharedLocation> shared_location(Warp&, const Instruction&, int lane, u64 address, bool may_be_remote, u64 bytes, u64 align);

/// From global memory into the shared memory of blocks, completing on their mbarriers; all destinations have the offset of the first.
struct Destination {
  SharedLocation to, mbarrier;
};
void begin_load(BulkCopy, const std::vector<Destination>&);
/// From the block's shared memory into a peer's, completing on its mbarrier.
void begin_move(BulkCopy, const Destination&);
/// A value of a thread's own into the shared memory of a block, completing on its mbarrier.
void begin_value(const BulkCopy&, const Destination&, const std::array<std::byte, 16>& value);
/// From the block's shared memory to global memory, as a part of the lane's group.
void begin_store(BulkCopy);

/// The lanes' groups: those begun so far become one; waits for all but the last `keep`, to be done or (`only_read`) to have been read.
void commit_bulk_group(Warp&, Mask);
void wait_for_bulk_groups(Warp&, Mask, u32 keep, bool only_read);
/// The block has ended: nothing must still read its shared memory.
void check_finished_copies(Block&);

}  // namespace tilewright::rt::emulator
