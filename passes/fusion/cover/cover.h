// Divides the outputs of a segment into kernels.
//
//   1. Each output is a kernel. For each axis that may be its loop, operands of products that contain products themselves are computed
//      inside of the loop (scores of attention, logits of a loss), or by kernels that store them. The alternative with the least estimated
//      time (cost.h), including the kernels that store operands, is chosen: a dynamic program over the values. The best one is emitted and
//      estimated again with the tiles that fit, until one remains the best.
//   2. Values that are stored become kernels in the same way; each is stored once, however often it is read.
//   3. Kernels with the same loop that do not wait for each other are merged if one kernel takes less time than the two.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/cover/fit_tiling.h"
#include "passes/fusion/plan/loop_plan.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct CoveredKernel {
  LoopPlan plan;
  FittedTiling tiling;
  ProofResult proof;
  /// Its estimated cost and the next best alternative, for reports.
  std::string estimate;
};

/// The kernels, in an order in which each one's operands are stored before it runs. Intermediate tensors are added to the pool, with names
/// from t`first` on. Each plan has passed options.check. Throws PlanRefuted if an output has no plan that passes.
std::vector<CoveredKernel> cover(ExprBuilder&, std::vector<KernelOutput> outputs, const ir::TargetDesc&, const FusionOptions& = {},
                                 int first = 0);

}  // namespace tilewright::passes::fusion
