// Describes a plan for reports: its multiplications and additions, and why its values are computed by one kernel.
#pragma once
#include "passes/fusion/kernel_types.h"
#include "passes/fusion/plan/loop_label.h"

namespace tilewright::passes::fusion {

/// The multiplications and additions of floats in the formulas of the outputs: each value once, at each point of its axes.
std::vector<FlopCount> count_flops(const LoopPlan&);

/// Why the outputs of a plan are one kernel, in words.
std::string reason_of(const LoopPlan&, const TensorLabel& name = {});

}  // namespace tilewright::passes::fusion
