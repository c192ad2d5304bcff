// Makes one kernel of two, where that takes less time.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/cost.h"
#include "passes/fusion/emit/tiling.h"
#include "passes/fusion/plan.h"

namespace tilewright::passes::fusion {

struct PlannedKernel {
  std::optional<Plan> plan;
  Tiling tiling;
  KernelCost cost;
  std::set<Tensor> reads;
  std::string reason;  // for reports
};
PlannedKernel planned_kernel(Plan, Tiling, const KernelCost&, std::string reason);

/// Merges kernels that share what they read and have one loop: those that do not wait for each other, and those of which one reads an
/// output of the segment (`given`) that the other one computes: x and a sum of x.
void merge_kernels(ExprBuilder&, std::vector<PlannedKernel>&, const std::set<Tensor>& given, const ir::TargetDesc&, const ProgramOptions&);

/// What a kernel reads is written before it.
std::vector<PlannedKernel> in_order(std::vector<PlannedKernel>);

}  // namespace tilewright::passes::fusion
