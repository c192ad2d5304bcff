// The engines of bulk copies: the reads and writes of a copy are checked when it begins, and executed when the schedule says.
#pragma once
#include <optional>
#include <vector>

#include "runtime/emulator/async/copy_pieces.h"
#include "runtime/emulator/async/mbarrier.h"
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

/// A reduction into the destination's old value; without it, a copy replaces that value.
struct Reduction {
  u32 update = 0;  // a number for atomic_update()
  int bytes = 0;   // bytes of an element
};

/// A bulk copy of one lane.
struct BulkCopy {
  Warp& warp;
  const Instruction& instruction;
  int lane;
  CopyPieces pieces;
  u64 fill = 0;        // the pattern that loads write outside of the tensor
  int fill_bytes = 1;  // size of the pattern
  std::optional<Reduction> reduction = std::nullopt;
};

/// A block and an offset in its shared memory.
struct SharedLocation {
  Block* block = nullptr;
  u64 offset = 0;
};

/// The location of a lane's address of shared memory, if `bytes` bytes exist there and it is a multiple of `align`; else a diagnostic.
std::optional<SharedLocation> shared_location(Warp&, const Instruction&, int lane, u64 address, bool may_be_remote, u64 bytes, u64 align);

/// A copy from global memory to the shared memory of blocks, which completes on their mbarriers; all destinations have one offset.
struct Destination {
  SharedLocation to, mbarrier;
};
void begin_load(BulkCopy, const std::vector<Destination>&);
/// A copy from the block's shared memory to another block's, which completes on the mbarrier there.
void begin_move(BulkCopy, const Destination&);
/// A store of a thread's own value to the shared memory of a block, which completes on the mbarrier there.
void begin_value(const BulkCopy&, const Destination&, const std::array<std::byte, 16>& value);
/// A copy from the block's shared memory to global memory, as part of the lane's group.
void begin_store(BulkCopy);

/// Commits the copies begun so far as one group of each lane; waits for all groups but the last `keep` to be done or (`only_read`) read.
void commit_bulk_group(Warp&, Mask);
void wait_for_bulk_groups(Warp&, Mask, u32 keep, bool only_read);
/// Called when a block has ended: no copy may still read its shared memory.
void check_finished_copies(Block&);

}  // namespace tilewright::rt::emulator
