// Names the nodes of a refusal and their lines.
#include "passes/fusion/report/refusal_text.h"

#include <fmt/format.h>

#include "passes/fusion/plan/loop_label.h"
#include "tileir/graph/function_name.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

namespace {

std::string location_text(const graph::Graph& g, NodeId n) {
  if (!n.valid()) return "an unknown line";
  const Location& where = graph::call_location(g, n);
  return fmt::format("{}:{}", where.file, where.line);
}

std::string name_of(const graph::Graph& g, NodeId n) { return n.valid() ? graph::display_name(g, n) : "a value"; }

}  // namespace

std::string refusal_text(const graph::Graph& g, const ExprPool& pool, const LoopPlan& plan, const Refusal& r) {
  const NodeId what = nearest_source(pool, r.why.node), why = nearest_source(pool, r.why.pending);
  return fmt::format("not fused: {} in {} ({}) because {} ({}) is complete only after all of {}", r.why.reason, name_of(g, what),
                     location_text(g, what), name_of(g, why), location_text(g, why), loop_label(plan));
}

}  // namespace tilewright::passes::fusion
