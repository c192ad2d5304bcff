// Collects the sources of expressions.
#include "passes/fusion/covered_nodes.h"

namespace tilewright::passes::fusion {

bool is_leaf(graph::Op op) {
  using graph::Op;
  return op == Op::input || op == Op::scalar || op == Op::constant || op == Op::iota || op == Op::extent || op == Op::argument;
}

void cover_sources(const graph::Graph& g, const ExprPool& pool, Expr e, ExprSet& seen, std::set<std::uint32_t>& covered) {
  if (!seen.insert(e).second) return;
  // What is read from memory is another kernel's work; views of it are this one's.
  if (e->is(ExprKind::load) && !e->tensor->node.valid()) return;
  for (graph::NodeId n : pool.sources(e))
    if (!is_leaf(g.node(n).op) && !(e->is(ExprKind::load) && n == e->tensor->node)) covered.insert(n.index);
  if (e->is(ExprKind::load)) return;
  for (Expr x : children(e)) cover_sources(g, pool, x, seen, covered);
}

std::vector<graph::NodeId> covered_nodes(const graph::Graph& g, const ExprPool& pool, const Plan& plan, Share share) {
  ExprSet seen;
  std::set<std::uint32_t> nodes;
  for (const Reduction& r : plan.reductions) {
    if (share == Share::reductions) cover_sources(g, pool, r.value, seen, nodes);
    if (share == Share::rest) seen.insert(r.value);
  }
  if (share != Share::reductions)
    for (const KernelOutput& o : plan.outputs) cover_sources(g, pool, o.value, seen, nodes);
  std::vector<graph::NodeId> all;
  for (std::uint32_t n : nodes) all.push_back({n});
  return all;
}

}  // namespace tilewright::passes::fusion
