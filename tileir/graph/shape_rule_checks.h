// Declares the shape rules of graph_ops.def, one function each, and the view of a node that they get. Private to the shape rules.
#pragma once
#include <initializer_list>
#include <string>

#include "tileir/graph/shapes.h"
#include "tileir/op_info.h"

namespace tilewright::graph {

/// The input of a rule: a node that need not be in the graph, whose operands are in it.
struct RuleInput {
  const Graph& graph;
  const Node& node;

  const TensorShape& shape(std::size_t operand) const { return graph.node(node.operands[operand]).shape; }
  ir::Element element(std::size_t operand) const { return graph.node(node.operands[operand]).element; }
  /// Operand i with its name in messages.
  Party party(std::size_t i) const;
  /// "'x' is [4, 8]".
  std::string seen(std::size_t i) const;
  /// An error about these operands.
  Inferred fail(const std::string& message, std::initializer_list<std::size_t> operands = {}) const;
  /// An error unless the operand has this axis.
  Inferred check_axis(int axis, std::size_t operand = 0) const;
};

namespace rules {
// Declares Inferred rule_input(const RuleInput&) and so on: an op without its function does not link.
#define TW_GRAPH_OP(name, ...) Inferred rule_##name(const RuleInput&);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
}  // namespace rules

}  // namespace tilewright::graph
