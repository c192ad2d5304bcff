// Divides the outputs of a segment into kernels.
//
//   1. add: each output is a kernel; scans have kernels of their own (add_scans).
//      a. alternatives: each strategy (strategies.h) says, for each axis that may be the loop, which values inside of the output the loop
//         computes (scores of attention, logits of a loss), and which ones other kernels store.
//      b. estimate_alternative: the time of the kernel (cost.h), and of the kernels that store values for it (seconds_to_store): a dynamic
//         program over the values.
//      c. take_best_emitted: the best one is checked, emitted, and estimated again with the tiles that fit (fit_tiling.h), until one
//         remains the best.
//   2. store_all: values that are stored become kernels in the same way; each is stored once, however often it is read.
//   3. merge_kernels: kernels with the same loop that do not wait for each other become one if that takes less time than they do.
//   4. in_order: each kernel follows those that store what it reads.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/fit_tiling.h"
#include "passes/fusion/plan/loop_plan.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct CoveredKernel {
  LoopPlan plan;
  FittedTiling tiling;
  ProofResult proof;
  KernelCost cost;
  /// Its estimated cost and the next best alternative, for reports.
  std::string estimate;
};

/// The kernels, in an order in which each one's operands are stored before it runs. Intermediate tensors are added to the pool, with names
/// from t`first` on. Each plan has passed the check. Throws PlanRefuted if an output has no plan that passes.
std::vector<CoveredKernel> cover(ExprBuilder&, const std::vector<KernelOutput>& outputs, const ir::TargetDesc&, const FusionOptions& = {},
                                 int first = 0, const PlanCheck& = {});

/// Whether these kernels take less time than others that write the same, also if symbols are large.
bool takes_less(const std::vector<CoveredKernel>&, const std::vector<CoveredKernel>& others);

}  // namespace tilewright::passes::fusion
