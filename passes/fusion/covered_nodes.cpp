// Collects the sources of expressions.
#include "passes/fusion/covered_nodes.h"

#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

bool computes_nothing(graph::Op op) { return graph::is_leaf(op) && op != graph::Op::rand; }

void cover_sources(const graph::Graph& g, const ExprPool& pool, Expr e, ExprSet& seen, std::set<std::uint32_t>& covered) {
  if (!seen.insert(e).second) return;
  // What is read from memory is another kernel's work; views of it are this one's.
  if (e->is(ExprKind::load) && !e->tensor->node.valid()) return;
  for (graph::NodeId n : pool.sources(e))
    if (!computes_nothing(g.node(n).op) && !(e->is(ExprKind::load) && n == e->tensor->node)) covered.insert(n.index);
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
