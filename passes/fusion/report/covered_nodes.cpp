// Collects the sources of expressions.
#include "passes/fusion/report/covered_nodes.h"

#include <algorithm>
#include <map>
#include <vector>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

bool computes_nothing(graph::Op op) { return graph::is_leaf(op) && op != graph::Op::rand; }

void cover_sources(const graph::Graph& g, const ExprPool& pool, Expr value, ExprSet& seen, std::set<std::uint32_t>& covered) {
  walk_inwards(value, seen, [&](Expr e) {
    // Values in memory are computed by other kernels; views of them belong to this kernel.
    if (e->is(ExprKind::load) && !e->tensor->node.valid()) return false;
    for (graph::NodeId n : pool.sources(e))
      if (!computes_nothing(g.node(n).op) && !(e->is(ExprKind::load) && n == e->tensor->node)) covered.insert(n.index);
    return !e->is(ExprKind::load);
  });
}

namespace {

// Collects the nodes whose values a kernel reads, wholly or partly.
std::set<std::uint32_t> read_nodes(const ExprPool& pool, const std::vector<KernelOutput>& outputs) {
  ExprSet seen;
  std::vector<Expr> loads;
  for (const KernelOutput& o : outputs) collect(o.value, ExprKind::load, seen, loads);
  std::set<std::uint32_t> read;
  for (Expr e : loads)
    if (e->tensor->node.valid())
      read.insert(e->tensor->node.index);
    else
      for (graph::NodeId n : pool.sources(e)) read.insert(n.index);
  return read;
}

// Whether a kernel that reads these nodes has everything that a node needs: a kernel that stores gamma * w is part of norm(x) * gamma * w,
// and computes nothing of x.
class Available {
 public:
  Available(const graph::Graph& g, const std::set<std::uint32_t>& read) : g_(g), read_(read) {}

  bool operator()(std::uint32_t n) {
    if (read_.contains(n)) return true;
    const graph::Node& node = g_.node({n});
    if (graph::is_leaf(node.op)) return node.op != graph::Op::input && (node.op != graph::Op::constant || node.data->bits.size() == 1);
    if (const auto known = known_.find(n); known != known_.end()) return known->second;
    if (known_.size() >= kMostSearchedNodes) return false;
    known_[n] = false;
    const bool has_all = std::all_of(node.operands.begin(), node.operands.end(), [&](graph::NodeId x) { return (*this)(x.index); });
    return known_[n] = has_all;
  }

 private:
  const graph::Graph& g_;
  const std::set<std::uint32_t>& read_;
  std::map<std::uint32_t, bool> known_;
};

// Formulas in normal form lack values that became part of others: x * 2 in (x * 2 + 1) * 3. Such a value is computed where its users are.
void cover_operands(const graph::Graph& g, const std::set<std::uint32_t>& read, std::set<std::uint32_t>& covered) {
  Available available(g, read);
  std::vector<std::uint32_t> todo(covered.begin(), covered.end());
  while (!todo.empty()) {
    const std::uint32_t n = todo.back();
    todo.pop_back();
    if (read.contains(n)) continue;
    for (graph::NodeId x : g.node({n}).operands)
      if (!read.contains(x.index) && !computes_nothing(g.node(x).op) && available(x.index) && covered.insert(x.index).second)
        todo.push_back(x.index);
  }
}

}  // namespace

std::vector<graph::NodeId> covered_nodes(const graph::Graph& g, const ExprPool& pool, const LoopPlan& plan, Share share) {
  ExprSet seen;
  std::set<std::uint32_t> nodes;
  for (const Reduction& r : plan.reductions) {
    if (share == Share::reductions) cover_sources(g, pool, r.value, seen, nodes);
    if (share == Share::rest) seen.insert(r.value);
  }
  if (share != Share::reductions)
    for (const KernelOutput& o : plan.outputs) cover_sources(g, pool, o.value, seen, nodes);
  if (share != Share::rest) cover_operands(g, read_nodes(pool, plan.outputs), nodes);
  std::vector<graph::NodeId> all;
  for (std::uint32_t n : nodes) all.push_back({n});
  return all;
}

}  // namespace tilewright::passes::fusion
