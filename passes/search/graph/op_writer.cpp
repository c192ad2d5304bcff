// Ops with the axes of classes.
#include "passes/search/graph/op_writer.h"

#include <algorithm>

#include "tileir/graph/einsum.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;
using Kind = WrittenOp::Kind;

}  // namespace

graph::TensorShape OpWriter::shape(int root) const {
  graph::TensorShape shape;
  for (int s = 0; s < choice_.member(root).slots.size(); ++s) shape.push_back(all_.dim(all_.terms.extent(root, s)));
  return shape;
}

LabelledNode OpWriter::write(int root, const WrittenOp& op) {
  const Member& m = choice_.member(root);
  const Labels& order = m.slots;
  std::vector<NodeId> x;
  if (op.kind != Kind::einsum && op.kind != Kind::reduce && op.kind != Kind::reshape && op.kind != Kind::slice)
    for (const Ref& r : op.operands) x.push_back(writer_.aligned(operand(r), order));
  switch (op.kind) {
    case Kind::leaf: break;  // a tensor that no op computes
    case Kind::number: return {writer_.builder().extent(m.node.element, op.length), order};
    case Kind::map: return {writer_.map(op.function, x, m.node.element), order};
    case Kind::reciprocal: return {writer_.map(ir::OpKind::div_, {writer_.builder().number(m.node.element, 1.0), x[0]}), order};
    case Kind::broadcast: return {writer_.broadcast(x[0], shape(root)), order};
    case Kind::einsum: return einsum(m, op);
    case Kind::reduce: return reduce(m, op);
    case Kind::reshape: return without_ones(m, op);
    case Kind::concat: return along(m, graph::Op::concat, x, {});
    case Kind::pad: return along(m, graph::Op::pad, x, {op.begin, op.end});
    case Kind::slice: return slice(m, op);
    case Kind::view: return view(m, x[0]);
  }
  TW_UNREACHABLE("a written op");
}

LabelledNode OpWriter::along(const Member& m, graph::Op op, std::vector<NodeId> operands, std::vector<Dim> lengths) {
  graph::Node n;
  n.op = op;
  n.operands = std::move(operands);
  n.axes = {m.slots.slot_of(m.node.axis)};
  n.lengths = std::move(lengths);
  return {writer_.add(std::move(n)), m.slots};
}

/// If fusion computed the parts of a product with a concatenation from the formula, it would multiply the pieces one by one again.
LabelledNode OpWriter::slice(const Member& m, const WrittenOp& op) {
  const Ref& whole = op.operands[0];
  NodeId& kept = in_memory_[whole.term];
  if (!kept.valid()) kept = is_merged(whole.term) ? writer_.builder().materialize(nodes_.at(whole.term)) : nodes_.at(whole.term);
  const NodeId x = writer_.aligned({kept, whole.labels}, m.slots);
  return along(m, graph::Op::slice, {x}, {op.begin, op.end, Dim(1)});
}

/// Whether a class is computed by a product with a concatenation that the user has not written.
bool OpWriter::is_merged(int root) const {
  const Node& n = choice_.member(root).node;
  if (!choice_.as_written.empty() && choice_.as_written[static_cast<std::size_t>(root)]) return false;
  if (n.op != Op::product || !sums_an_axis(n)) return false;
  return std::any_of(n.in.begin(), n.in.begin() + operands_of(n),
                     [&](const Ref& r) { return choice_.member(choice_.source.find(r).term).node.op == Op::cat; });
}

LabelledNode OpWriter::view(const Member& m, NodeId x) {
  const View& v = all_.views[static_cast<std::size_t>(m.node.attribute)];
  std::vector<NodeId> operands = {x};
  if (v.op == graph::Op::pad) operands.push_back(writer_.builder().constant(m.node.element, {}, {0}));
  const LabelledNode moved = along(m, v.op, operands, v.lengths);
  if (v.op != graph::Op::window) return moved;
  graph::Node sums;
  sums.op = graph::Op::reduce;
  sums.operands = {moved.node};
  sums.kind = graph::Combine::sum;
  sums.axes = {m.slots.size()};  // the elements of the windows
  return {writer_.add(std::move(sums)), m.slots};
}

LabelledNode OpWriter::einsum(const Member& m, const WrittenOp& op) {
  graph::Equation equation;
  graph::Node n;
  n.op = graph::Op::einsum;
  for (const Ref& r : op.operands) {
    n.operands.push_back(nodes_.at(r.term));
    std::string& labels = equation.operands.emplace_back();
    for (Label l : r.labels) labels += letter(l);
  }
  for (Label l : m.slots) equation.result += letter(l);
  n.text = equation.text();
  n.element = m.node.element;
  n.precision = precision_of(m.node.attribute);
  return {writer_.add(std::move(n)), m.slots};
}

LabelledNode OpWriter::reduce(const Member& m, const WrittenOp& op) {
  const Ref& r = op.operands[0];
  LabelledNode made;
  graph::Node n;
  n.op = graph::Op::reduce;
  n.operands = {nodes_.at(r.term)};
  n.kind = op.combine;
  for (int axis = 0; axis < r.labels.size(); ++axis) {
    if (contains(m.node.kept, r.labels[axis]))
      made.axes.push_back(r.labels[axis]);
    else
      n.axes.push_back(axis);
  }
  made.node = writer_.add(std::move(n));
  return made;
}

LabelledNode OpWriter::without_ones(const Member& m, const WrittenOp& op) {
  const LabelledNode x = operand(op.operands[0]);
  LabelledNode made;
  graph::TensorShape shape;
  for (int axis = 0; axis < x.axes.size(); ++axis) {
    if (!contains(m.node.kept, x.axes[axis])) continue;
    made.axes.push_back(x.axes[axis]);
    shape.push_back(writer_.shape(x.node)[static_cast<std::size_t>(axis)]);
  }
  made.node = writer_.reshape(x.node, shape);
  return made;
}

}  // namespace tilewright::passes::search
