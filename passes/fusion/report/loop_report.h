// The loop of a kernel in words that docs/fusion.md explains, for explain().
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/fusion/plan/plan.h"

namespace tilewright::passes::fusion {

/// A reduction over the loop's axis.
struct ReductionReport {
  int number = 0;  // r0, r1, ... of the plan, to which bounds of errors refer
  int pass = 1;
  Policy policy{};
  graph::Combine kind{};
  graph::NodeId node;  // that asked for it
};

struct LoopReport {
  std::string axis;  // empty: there is no loop
  std::string extent;
  double numbers = 0;  // that a row keeps
  std::vector<ReductionReport> reductions;
};

/// `source`: the node whose value a reduction is, or a part of.
LoopReport report_loop(const Plan&, const std::function<graph::NodeId(Expr)>& source);

}  // namespace tilewright::passes::fusion
