// Walks the terms of each node down to those of its operands.
#include "passes/search/graph/kept_nodes.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::search {

std::vector<bool> kept_nodes(const graph::Graph& written, const GraphTerms& all, const Choice& choice) {
  std::vector<bool> kept(written.size());
  if (choice.as_written.empty()) return kept;
  const auto is_as_written = [&](int term) {
    return bool(choice.as_written[static_cast<std::size_t>(choice.source.find({term, {}}).term)]);
  };
  for (std::uint32_t i = 0; i < written.size(); ++i) {
    const graph::Node& n = written.node({i});
    if (!all.values[i]) continue;
    if (graph::is_leaf(n.op)) {
      kept[i] = n.op != graph::Op::argument;
      continue;
    }
    if (!std::all_of(n.operands.begin(), n.operands.end(), [&](graph::NodeId x) { return bool(kept[x.index]); })) continue;
    std::set<int> seen;  // the terms of operands, and others that were visited
    for (graph::NodeId x : n.operands) seen.insert(all.values[x.index]->ref.term);
    std::vector<int> todo = {all.values[i]->ref.term};
    bool is_kept = true;
    while (is_kept && !todo.empty()) {
      const int term = todo.back();
      todo.pop_back();
      if (!seen.insert(term).second) continue;
      is_kept = is_as_written(term);
      const Node& made = all.terms.node(term);
      for (int k = 0; k < operands_of(made); ++k) todo.push_back(made.in[static_cast<std::size_t>(k)].term);
    }
    kept[i] = is_kept;
  }
  return kept;
}

std::vector<graph::NodeId> nodes_down_to(const graph::Graph& g, graph::NodeId result, const std::function<bool(graph::NodeId)>& ends) {
  std::vector<graph::NodeId> stack = {result};
  std::set<graph::NodeId> seen;
  while (!stack.empty()) {
    const graph::NodeId n = stack.back();
    stack.pop_back();
    if (ends(n) || !seen.insert(n).second) continue;
    for (graph::NodeId x : g.node(n).operands) stack.push_back(x);
  }
  return {seen.begin(), seen.end()};
}

}  // namespace tilewright::passes::search
