// The axes of a kernel that may be numbers of rows: with batch_invariant, no order of a sum may depend on their extents.
#pragma once
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// The axes of the outputs that no reduction binds. An axis that only parameters have, as the columns of a product with weights, is none: the
/// shape of a parameter is the same for every number of rows.
AxisSet rows_of(const LoopPlan&);

}  // namespace tilewright::passes::fusion
