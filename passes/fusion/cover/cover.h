// Divides the outputs of a segment into kernels.
//
//   1. Each output is a kernel. For each axis that may be its loop, operands of products that hold products themselves are computed inside
//      of the loop (scores of attention, logits of a loss), or by kernels that store them. Chosen is what takes the least time by the
//      estimate of cost.h, with the kernels that store operands: a dynamic program over the values. The best way is emitted, and estimated
//      again with the tiles that fit, until one remains the best.
//   2. Values that are stored become kernels in the same way, each stored once however often it is read.
//   3. Kernels with one loop that do not wait for each other merge, if one kernel takes less time than the two.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/plan/plan.h"
#include "passes/fusion/tiles/tiling.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct CoveredKernel {
  Plan plan;
  Tiling tiling;
  ProofResult proof;
  /// What it costs by the estimate, and the next best way, for reports.
  std::string reason;
};

/// The kernels in an order in which each one's operands are stored before it runs. Intermediate tensors are added to the pool, with names
/// from t`first` on. Each plan has passed options.check. Throws PlanRefuted if an output has no such plan.
std::vector<CoveredKernel> cover(ExprBuilder&, std::vector<KernelOutput> outputs, const ir::TargetDesc&, const ProgramOptions& = {},
                                 int first = 0);

/// The cheapest plan of outputs that are computed by one kernel.
Plan best_plan(ExprBuilder&, const std::vector<KernelOutput>&);

/// f32 accumulators of one row: 64 rows of them fill the registers of a GPU's program.
inline constexpr double kMostRowCells = 1024;

/// Whether the accumulators of one row fit beside each other in registers and shared memory.
bool fits_on_chip(const Plan&);

}  // namespace tilewright::passes::fusion
