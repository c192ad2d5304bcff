// The graph as a list of nodes, outputs and composites.
#include "tileir/graph/graph.h"

#include "tileir/diagnostics.h"

namespace tilewright::graph {

std::optional<NodeId> Graph::find_input(const std::string& name) const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if ((nodes_[i].op == Op::input || nodes_[i].op == Op::scalar) && nodes_[i].text == name) return NodeId{i};
  return std::nullopt;
}

std::vector<bool> Graph::needed_nodes() const {
  std::vector<bool> needed(nodes_.size());
  for (const Output& o : outputs_) needed[o.node.index] = true;
  for (std::size_t i = nodes_.size(); i-- > 0;)
    if (needed[i])
      for (NodeId operand : nodes_[i].operands) needed[operand.index] = true;
  return needed;
}

NodeId Graph::append(Node node) {
  for (NodeId operand : node.operands) TW_CHECK(operand.index < nodes_.size(), "an operand must be defined before its user");
  nodes_.push_back(std::move(node));
  return {static_cast<std::uint32_t>(nodes_.size() - 1)};
}

std::uint32_t Graph::add_composite(Composite composite) {
  composites_.push_back(std::move(composite));
  return static_cast<std::uint32_t>(composites_.size() - 1);
}

}  // namespace tilewright::graph
