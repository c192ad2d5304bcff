// Merges kernels into one if that takes less time, and finds what several kernels compute.
//
// If n kernels with one output each read the same tensors, the first one takes one, two, four, ... of the others at a time. So there are
// log(n) attempts, each of which plans, checks and emits all outputs so far. If so many do not fit, half of them are tried, and so on. If
// one kernel reads the output of another one, the two are merged by themselves.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/fit_tiling.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

struct ChosenKernel {
  std::optional<LoopPlan> plan;
  FittedTiling tiling;
  KernelCost cost;
  ProofResult proof;
  std::set<Tensor> reads;
  std::string reason;  // why it was chosen, for reports
};
ChosenKernel chosen_kernel(LoopPlan, FittedTiling, const KernelCost&, ProofResult, std::string reason);

struct MergedPlan {
  LoopPlan plan;
  KernelCost cost;  // its cost with the tiles of choose_tiling
};
/// The cheapest plan for the outputs of two kernels with one of these loops, in which at least the axes `distributed` are distributed over
/// the grid. None if the kernels have no loop in common, if programs of one would compute the other's results again, or if no plan fits.
std::optional<MergedPlan> merged_plan(ExprBuilder&, ContainedReductions&, const std::vector<KernelOutput>& first,
                                      const std::vector<KernelOutput>& second, const std::vector<Axis>& loops, const AxisSet& distributed,
                                      const ir::TargetDesc&, const FusionOptions&);

/// Merges kernels that read the same tensors and have the same loop: kernels that do not depend on each other, and kernels of which one
/// reads an output of the segment (`given`) that the other one computes, such as x and a sum of x.
void merge_kernels(ExprBuilder&, std::vector<ChosenKernel>&, const std::set<Tensor>& given, const ir::TargetDesc&, const FusionOptions&,
                   const PlanCheck&);

/// The products that several of these kernels compute, sorted by key.
std::vector<Expr> repeated_products(const ExprBuilder&, const std::vector<ChosenKernel>&);

/// The kernels in an order in which each one's operands are written before it.
std::vector<ChosenKernel> in_order(std::vector<ChosenKernel>);

}  // namespace tilewright::passes::fusion
