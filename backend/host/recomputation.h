// Finds the values that a loop nest computes again instead of reading them from a buffer.
#pragma once
#include <functional>
#include <vector>

#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// Long rows leave the first cache if each value that a later loop nest needs is stored to a buffer. A value of few cheap ops of loads takes
/// less time to compute again: its loads find the lines that the first nest has loaded.
class Recomputation {
 public:
  Recomputation(const Function&, const EvaluationPlan&, const MemoryAxes&, BlockId);

  /// The ops that compute a value, in order, without those whose results `is_there`; none if its buffer is better.
  std::vector<OpId> ops_of(ValueId, const std::function<bool(ValueId)>& is_there) const;

 private:
  bool may_load_again(OpId load) const;
  /// Appends the ops of a value. Returns whether they are few and cheap.
  bool collect(ValueId, const ir::Type& shape, const std::function<bool(ValueId)>& is_there, std::vector<OpId>& ops) const;

  const Function& f_;
  const EvaluationPlan& plan_;
  const MemoryAxes& memory_;
  const BlockId block_;
  bool is_of_contraction_ = false;
  std::vector<ValueId> written_;  // the parameters that the kernel writes to
};

}  // namespace tilewright::backend::host
