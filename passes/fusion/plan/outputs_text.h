// The outputs of a kernel as formulas, for tests.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// A line for each: "f32 y[n, x1] = exp(x[n, x1])".
std::string outputs_text(const std::vector<KernelOutput>&);

}  // namespace tilewright::passes::fusion
