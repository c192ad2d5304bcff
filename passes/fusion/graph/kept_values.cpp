// Copies a graph node by node; a kept value follows the node that computes it.
#include "passes/fusion/graph/kept_values.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

bool computes(const Node& n) {
  switch (n.op) {
    case Op::map:
    case Op::reduce:
    case Op::scan:
    case Op::einsum:
    case Op::gather:
    case Op::take_along:
    case Op::scatter_add: return true;
    default: return false;
  }
}

// Indexed by node: the first node that keeps its value.
std::vector<NodeId> first_kept(const graph::Graph& g) {
  std::vector<NodeId> kept(g.size());
  const std::vector<bool> is_needed = g.needed_nodes();
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (n.op != Op::materialize || !is_needed[i] || !computes(g.node(n.operands[0]))) continue;
    if (NodeId& first = kept[n.operands[0].index]; !first.valid()) first = {i};
  }
  return kept;
}

}  // namespace

std::optional<graph::Graph> with_kept_values_read(const graph::Graph& g) {
  const std::vector<NodeId> kept = first_kept(g);
  const auto reads_computed = [&](NodeId reader, NodeId x) { return kept[x.index].valid() && kept[x.index] != reader; };
  bool is_changed = std::ranges::any_of(g.outputs(), [&](const graph::Output& o) { return kept[o.node.index].valid(); });
  for (std::uint32_t i = 0; i < g.size() && !is_changed; ++i)
    is_changed = std::ranges::any_of(g.node({i}).operands, [&](NodeId x) { return reads_computed({i}, x); });
  if (!is_changed) return std::nullopt;
  graph::Graph result(g.symbols());
  for (std::uint32_t i = 0; i < g.composites(); ++i) result.add_composite(g.composite(i));
  std::vector<NodeId> moved(g.size());
  const auto append = [&](NodeId id) {
    Node n = g.node(id);
    for (NodeId& x : n.operands) x = moved[x.index];
    if (n.combiner.valid()) n.combiner = moved[n.combiner.index];
    moved[id.index] = result.append(std::move(n));
  };
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (moved[i].valid()) continue;
    // One more op that keeps the same value is the first one.
    if (const Node& n = g.node({i}); n.op == Op::materialize && kept[n.operands[0].index].valid()) {
      moved[i] = moved[n.operands[0].index];
      continue;
    }
    append({i});
    if (!kept[i].valid()) continue;
    append(kept[i]);
    moved[i] = moved[kept[i].index];
  }
  for (const graph::Output& o : g.outputs()) result.add_output({o.name, moved[o.node.index], o.where});
  return result;
}

}  // namespace tilewright::passes::fusion
