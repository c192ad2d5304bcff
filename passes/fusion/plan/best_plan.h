// Chooses the plan of a kernel with given outputs: by what fits on chip, then by the number of passes, then by accumulators.
#pragma once
#include <vector>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// The cheapest plan that computes these outputs in one kernel.
LoopPlan best_plan(ExprBuilder&, const std::vector<KernelOutput>&);

/// Whether registers and shared memory have room for the accumulators of one row, which is the least that a program holds: the part of the
/// answer to KernelCost::fits that is known without tiles.
bool row_fits_on_chip(const LoopPlan&);

}  // namespace tilewright::passes::fusion
