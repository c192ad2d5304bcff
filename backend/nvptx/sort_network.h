// Sorting networks over records that threads hold: bitonic, written out or in loops, in registers as long as there are enough.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "backend/nvptx/lowering.h"
#include "passes/plans/sort_plan.h"

namespace tilewright::backend::nvptx {

/// Unsigned numbers; `index` is null unless the plan splits words.
struct Record {
  Value *word = nullptr, *index = nullptr;
};

/// What the networks do with records.
///
/// All sort runs of 2, 4, ... elements, up and down in turns, so that two neighbours make a bitonic sequence that comparisons of bits
/// from the highest down put in order. Of rows that need not be kept whole (count), runs of as many as are kept are sorted; then of two
/// neighbours, one up, one down, the lesser of each two elements are those that stay, and are put in order again.
class RecordOps {
 public:
  RecordOps(NvptxLowering& l, const passes::SortPlan& plan, std::int64_t shared) : l_(l), b_(l.b_), plan_(plan), shared_(shared) {}

  Value* less(const Record& a, const Record& b);
  Record select(Value* condition, const Record& a, const Record& b);
  Record lesser(const Record& a, const Record& b) { return select(less(a, b), a, b); }
  /// That of lane ^ mask.
  Record of_lane(const Record&, Value* mask);
  /// Those of thread ^ mask, of whom all do this together. `buffer` takes turns: 0, 1, 0, ...; an i32.
  std::vector<Record> of_warp(std::span<const Record>, Value* mask, Value* buffer);

  /// The bits of the index that need not be kept, in the order in which they are given up: registers from the highest down, as that
  /// leaves less to do, then lanes, then warps.
  std::vector<int> given_up() const;
  enum class Place { reg, lane, warp };
  /// Where a bit of the index is, and which bit of the register, lane or warp.
  std::pair<Place, int> place(int bit) const;
  /// The bits of the index that are in threads, in place; i32.
  Value* index_of_thread();
  /// What of_lane or of_warp takes to reach the thread at the other side of a bit, which is known only when this runs; i32.
  Value* mask_of(Place, Value* bit);
  int register_bits() const { return static_cast<int>(plan_.places.low_registers.size()); }
  int lane_bits() const { return static_cast<int>(plan_.places.lanes.size()); }
  int threads() const { return 32 * l_.num_warps_; }

  NvptxLowering& l_;
  llvm::IRBuilder<>& b_;
  const passes::SortPlan& plan_;
  const std::int64_t shared_;
};

/// Records by register; those that stay are returned, in the order of the registers that held them.
std::vector<Record> sort_in_registers(RecordOps, std::vector<Record>);
std::vector<Record> sort_in_loops(RecordOps, std::vector<Record>);
std::vector<Record> sort_in_memory(RecordOps, const std::vector<Record>&);

}  // namespace tilewright::backend::nvptx
