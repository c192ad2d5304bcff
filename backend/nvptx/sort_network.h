// Sorting networks over the records of a row: bitonic, unrolled or in loops, with records in registers if there are enough registers.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// A record is an unsigned number; `index` is null unless the plan splits words.
struct Record {
  Value *word = nullptr, *index = nullptr;
};

/// Operations on records that all networks share.
///
/// A bitonic network sorts runs of 2, 4, ... elements, alternately ascending and descending. Two neighbouring runs are a bitonic sequence,
/// which compare-exchanges of index bits, from the highest down, put in order. If only the first elements of a row are kept (count), runs
/// of that length are sorted; then two neighbouring runs, one ascending and one descending, are compared, the lesser of each two elements
/// is kept, the other one is pruned, and the run is put in order again.
class RecordOps {
 public:
  RecordOps(Emitter& e, const passes::SortPlan& plan, std::int64_t shared) : e_(e), b_(e.b()), plan_(plan), shared_(shared) {}

  Emitter& emitter() const { return e_; }
  const passes::SortPlan& plan() const { return plan_; }

  Value* less(const Record& a, const Record& b);
  Record select(Value* condition, const Record& a, const Record& b);
  Record lesser(const Record& a, const Record& b) { return select(less(a, b), a, b); }
  /// The record of lane ^ mask.
  Record from_lane(const Record&, Value* mask);
  /// The records of thread ^ mask; all threads of the program must call this together. `buffer` alternates: 0, 1, 0, ...; an i32.
  std::vector<Record> from_warp(std::span<const Record>, Value* mask, Value* buffer);

  /// The bits of the index that need not be kept, in the order in which they are pruned: register bits from the highest down, since that
  /// leaves the least work, then lane bits, then warp bits.
  std::vector<int> pruned_bits() const;
  /// The location of a bit of the index: register, lane or warp, and the bit's number there.
  std::pair<HardwareDim, int> location(int bit) const;
  /// The part of the index that thread bits contribute, at its position in the index; i32.
  Value* index_of_thread();
  /// The mask for from_lane or from_warp that leads to the thread on the other side of an index bit, which is known only at run time;
  /// i32.
  Value* mask_of(HardwareDim, Value* bit);
  int register_bits() const { return static_cast<int>(plan_.order.low_registers.size()); }
  int lane_bits() const { return static_cast<int>(plan_.order.lanes.size()); }

 private:
  int threads() const { return e_.threads(); }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const passes::SortPlan& plan_;
  const std::int64_t shared_;
};

/// Sorts records given by register; returns the kept ones, in the order of the registers that held them.
std::vector<Record> sort_unrolled(RecordOps, std::vector<Record>);
std::vector<Record> sort_in_loops(RecordOps, std::vector<Record>);
std::vector<Record> sort_in_memory(RecordOps, const std::vector<Record>&);

}  // namespace tilewright::backend::nvptx
