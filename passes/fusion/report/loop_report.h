// Describes the loop of a kernel for explain(), in words that docs/fusion.md explains.
//
// A report has these parts, each of which has a file:
//   1. covered_nodes: the nodes that the kernel computes (covered_nodes.h).
//   2. reason_of, count_flops: why they are one kernel, and its operations (plan_numbers.h).
//   3. report_loop: the loop's axis, and each reduction over it with its pass and its policy.
//   4. error_text: how far rounding may move sums (error_bound.h).
//   5. refusal_text: why a formula takes another pass (refusal_text.h).
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/fusion/plan/loop_label.h"

namespace tilewright::passes::fusion {

/// A reduction over the loop's axis.
struct ReductionReport {
  int number = 0;  // number of the plan's reduction r0, r1, ..., to which error bounds refer
  int pass = 1;
  Policy policy{};
  graph::Combine kind{};
  graph::NodeId node;  // the node that computes it in the graph
};

struct LoopReport {
  std::string axis;  // empty: there is no loop
  std::string extent;
  double numbers = 0;  // elements of accumulators for each row
  std::vector<ReductionReport> reductions;
};

/// `source`: the node whose value a reduction computes, or a part of whose formula it is.
LoopReport report_loop(const LoopPlan&, const std::function<graph::NodeId(Expr)>& source, const TensorLabel& name = {});

}  // namespace tilewright::passes::fusion
