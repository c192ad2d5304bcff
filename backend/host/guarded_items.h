// Items of a loop nest that only matter where a condition holds.
#pragma once
#include <cstddef>
#include <vector>

#include "backend/host/evaluation_plan.h"

namespace tilewright::backend::host {

/// Long chains of items whose results only selects with one condition use, as their first choice. A vector without a lane in which the
/// condition holds does not need them. An example is the reduction of large angles by sin and cos.
struct GuardedItems {
  ValueId condition;
  std::vector<std::size_t> items, selects;  // numbers of items of the step, in order; they are emitted in place of the first select
};

/// The guarded items of a loop nest. They have no effect and no buffer.
std::vector<GuardedItems> find_guarded_items(const Function&, const EvaluationPlan&, const Step&);

}  // namespace tilewright::backend::host
