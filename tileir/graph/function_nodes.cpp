// Collects the nodes of a combining function.
#include "tileir/graph/function_nodes.h"

#include <algorithm>
#include <set>

namespace tilewright::graph {

std::vector<NodeId> function_nodes(const Graph& graph, NodeId function) {
  std::set<NodeId> seen = {function};
  std::vector<NodeId> work = {function};
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    for (NodeId operand : graph.node(id).operands)
      if (seen.insert(operand).second) work.push_back(operand);
  }
  // Operands have smaller numbers than the nodes that use them.
  return {seen.begin(), seen.end()};
}

}  // namespace tilewright::graph
