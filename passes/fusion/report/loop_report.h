// Describes the loop of a kernel for explain(), in words that docs/fusion.md explains.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/fusion/plan/loop_plan.h"

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
  double numbers = 0;  // numbers that are kept for each row
  std::vector<ReductionReport> reductions;
};

/// `source`: the node of which a reduction is the value, or a part.
LoopReport report_loop(const LoopPlan&, const std::function<graph::NodeId(Expr)>& source);

}  // namespace tilewright::passes::fusion
