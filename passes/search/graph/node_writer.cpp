// Appends nodes that change something.
#include "passes/search/graph/node_writer.h"

#include <algorithm>

namespace tilewright::passes::search {

using graph::NodeId;

namespace {

graph::Node node_of(graph::Op op, std::vector<NodeId> operands) {
  graph::Node n;
  n.op = op;
  n.operands = std::move(operands);
  return n;
}

}  // namespace

NodeId NodeWriter::add(graph::Node n) {
  n.where = where_;
  n.composite = composite_;
  return builder().add(std::move(n));
}

NodeId NodeWriter::map(ir::OpKind function, std::vector<NodeId> operands, ir::Element element) {
  graph::Node n = node_of(graph::Op::map, std::move(operands));
  n.function = function;
  n.element = element;
  return add(std::move(n));
}

NodeId NodeWriter::reshape(NodeId x, const graph::TensorShape& wanted) {
  if (shape(x) == wanted) return x;
  graph::Node n = node_of(graph::Op::reshape, {x});
  n.shape = wanted;
  return add(std::move(n));
}

NodeId NodeWriter::broadcast(NodeId x, const graph::TensorShape& wanted) {
  if (shape(x) == wanted) return x;
  graph::Node n = node_of(graph::Op::broadcast, {x});
  n.shape = wanted;
  return add(std::move(n));
}

NodeId NodeWriter::permute(NodeId x, const std::vector<int>& axes) {
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  graph::Node n = node_of(graph::Op::permute, {x});
  n.axes = axes;
  return add(std::move(n));
}

NodeId NodeWriter::aligned(const LabelledNode& x, const Labels& order) {
  std::vector<int> axes;
  graph::TensorShape wide;
  for (Label l : order) {
    const int axis = x.axes.slot_of(l);
    if (axis >= 0) axes.push_back(axis);
    if (axis >= 0 || !axes.empty()) wide.push_back(axis >= 0 ? shape(x.node)[static_cast<std::size_t>(axis)] : Dim(1));
  }
  return reshape(permute(x.node, axes), wide);
}

}  // namespace tilewright::passes::search
