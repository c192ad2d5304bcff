// Finds the nodes of a graph that a kernel computes, for reports.
#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// Which part of a plan a kernel computes: all of it, the reductions, or what follows them.
enum class Share : std::uint8_t { whole, reductions, rest };

/// Whether an op computes nothing, because it is a leaf other than a random number.
bool computes_nothing(graph::Op);

std::vector<graph::NodeId> covered_nodes(const graph::Graph&, const ExprPool&, const LoopPlan&, Share);
/// Adds the indices of the nodes whose values are computed inside of an expression.
void cover_sources(const graph::Graph&, const ExprPool&, Expr, ExprSet& seen, std::set<std::uint32_t>& covered);

}  // namespace tilewright::passes::fusion
