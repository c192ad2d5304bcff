// The name of a loop's axis in reports.
#pragma once
#include <functional>
#include <string>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// The name of a tensor in reports.
using TensorLabel = std::function<std::string(Tensor)>;

/// The symbol that names the axis, or its number in a tensor: the first of those that the kernel reads, as in "axis 1 of k". `name`: without it,
/// only inputs and what is computed ahead of a run have names. Requires: the plan has a loop.
std::string loop_label(const LoopPlan&, const TensorLabel& name = {});

}  // namespace tilewright::passes::fusion
