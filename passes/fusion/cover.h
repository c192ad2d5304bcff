// Divides the outputs of a graph into kernels.
//
//   1. Each output is a kernel: the loop's axis is the one with the cheapest plan that fits on chip.
//   2. An operand of a product that itself holds a product stays inside of the loop if it varies along the loop's axis and no program
//   computes
//      it twice (scores of attention, logits of a loss). Else it is an intermediate result that a kernel of its own stores.
//   3. Intermediate results become kernels in the same way, each stored once however often it is read.
//   4. Kernels with one loop that do not wait for each other merge, if their common plan fits and has no more passes.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/plan.h"

namespace tilewright::passes::fusion {

struct CoveredKernel {
  Plan plan;
  /// Why these values are one kernel, for reports.
  std::string reason;
};

/// The kernels in an order in which each one's operands are stored before it runs. Intermediate tensors are added to the pool, with names
/// from t`first` on.
std::vector<CoveredKernel> cover(ExprBuilder&, std::vector<KernelOutput> outputs, int first = 0);

/// The cheapest plan of outputs that are computed by one kernel.
Plan best_plan(ExprBuilder&, const std::vector<KernelOutput>&);

/// Whether the accumulators of one row fit beside each other in registers and shared memory.
bool fits_on_chip(const Plan&);

}  // namespace tilewright::passes::fusion
