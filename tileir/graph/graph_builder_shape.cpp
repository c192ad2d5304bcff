// Shape ops of the builder.
#include <fmt/format.h>

#include <algorithm>

#include "tileir/graph/graph_builder.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/opaque_kernel.h"

namespace tilewright::graph {

NodeId GraphBuilder::reshape(NodeId t, TensorShape shape) {
  if (std::find(shape.begin(), shape.end(), Dim(-1)) != shape.end())
    fail(fmt::format("extent -1 of shape {} must not be negative; unlike in NumPy, no extent follows from the others", shape_text(shape)),
         {t, "t"});
  Node n = node(Op::reshape, {t});
  n.shape = std::move(shape);
  return add(std::move(n));
}

NodeId GraphBuilder::permute(NodeId t, const std::vector<std::int64_t>& given) {
  Node n = node(Op::permute, {t});
  for (std::int64_t a : given) n.axes.push_back(axis(a, rank(t), {t, "t"}));
  return add(std::move(n));
}

NodeId GraphBuilder::transpose(NodeId t) {
  if (rank(t) < 2) fail(fmt::format("'t' is {}; it must have two axes or more", shape_text(shape(t))), {t, "t"});
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank(t); ++i) order.push_back(i);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(t, order);
}

NodeId GraphBuilder::expand_dims(NodeId t, std::int64_t given) {
  TensorShape extents = shape(t);
  const std::int64_t count = rank(t) + 1;
  if (given < -count || given >= count)
    fail(fmt::format("axis {} is out of range: 't' is {}, so it must be from {} to {}", given, shape_text(extents), -count, count - 1),
         {t, "t"});
  extents.insert(extents.begin() + (given < 0 ? given + count : given), Dim(1));
  return reshape(t, std::move(extents));
}

NodeId GraphBuilder::squeeze(NodeId t, std::int64_t given) {
  TensorShape extents = shape(t);
  const int i = axis(given, rank(t), {t, "t"});
  if (extents[static_cast<std::size_t>(i)] != Dim(1))
    fail(fmt::format("extent {} of axis {} of 't', which is {}, must be 1", extents[static_cast<std::size_t>(i)].text(), i,
                     shape_text(extents)),
         {t, "t"});
  extents.erase(extents.begin() + i);
  return reshape(t, std::move(extents));
}

NodeId GraphBuilder::broadcast(NodeId t, TensorShape to) {
  if (to == shape(t)) return t;
  Node n = node(Op::broadcast, {t});
  n.shape = std::move(to);
  return add(std::move(n));
}

NodeId GraphBuilder::slice(NodeId t, std::int64_t given, const Dim& begin, const Dim& end, const Dim& step) {
  Node n = node(Op::slice, {t});
  n.axes = {axis(given, rank(t), {t, "t"})};
  n.lengths = {begin, end, step};
  return add(std::move(n));
}

NodeId GraphBuilder::concat(const std::vector<NodeId>& tensors, std::int64_t given) {
  if (tensors.empty()) fail("there are no tensors");
  Node n = node(Op::concat, tensors);
  n.axes = {axis(given, rank(tensors[0]), {tensors[0], "operand 1"})};
  return add(std::move(n));
}

NodeId GraphBuilder::pad(NodeId t, std::int64_t given, const Dim& before, const Dim& after, NodeId value) {
  Node n = node(Op::pad, {t, value});
  n.axes = {axis(given, rank(t), {t, "t"})};
  n.lengths = {before, after};
  return add(std::move(n));
}

NodeId GraphBuilder::flip(NodeId t, std::int64_t given) {
  Node n = node(Op::flip, {t});
  n.axes = {axis(given, rank(t), {t, "t"})};
  return add(std::move(n));
}

NodeId GraphBuilder::rotate(NodeId t, std::int64_t given, const Dim& offset) {
  Node n = node(Op::rotate, {t});
  n.axes = {axis(given, rank(t), {t, "t"})};
  n.lengths = {offset};
  return add(std::move(n));
}

NodeId GraphBuilder::window(NodeId t, std::int64_t given, const Dim& size, const Dim& step, const Dim& dilation) {
  Node n = node(Op::window, {t});
  n.axes = {axis(given, rank(t), {t, "t"})};
  n.lengths = {size, step, dilation};
  return add(std::move(n));
}

// ---- indexed ---------------------------------------------------------------------------------------------------------

NodeId GraphBuilder::gather(NodeId table, NodeId index, std::int64_t given) {
  Node n = node(Op::gather, {table, index});
  n.axes = {axis(given, rank(table), {table, "table"})};
  return add(std::move(n));
}

NodeId GraphBuilder::take_along(NodeId t, NodeId index, std::int64_t given) {
  Node n = node(Op::take_along, {t, index});
  n.axes = {axis(given, rank(t), {t, "t"})};
  return add(std::move(n));
}

NodeId GraphBuilder::scatter_add(NodeId t, NodeId index, NodeId updates, std::int64_t given) {
  const ir::Element e = element(t);
  const bool widens = ir::is_float(e) && ir::bits(e) <= 16 && element(updates) == e;  // each sum rounds once
  Node n = node(Op::scatter_add, {t, index, updates});
  n.axes = {axis(given, rank(t), {t, "t"})};
  if (widens) n.operands = {cast(t, ir::Element::f32), index, cast(updates, ir::Element::f32)};
  return cast(add(std::move(n)), e);
}

// ---- placement -------------------------------------------------------------------------------------------------------

NodeId GraphBuilder::materialize(NodeId t) {
  const Op op = graph_.node(t).op;
  const bool is_in_memory = op == Op::input || op == Op::constant || op == Op::scalar || op == Op::materialize || op == Op::call;
  return is_in_memory ? t : add(node(Op::materialize, {t}));
}

// ---- kernels of the user ---------------------------------------------------------------------------------------------

std::vector<NodeId> GraphBuilder::call(const std::shared_ptr<OpaqueKernel>& kernel, std::vector<NodeId> operands) {
  expect_own_symbols(kernel->grid);
  for (const OpaqueKernel::Argument& a : kernel->arguments) expect_own_symbols({&a.extent, 1});
  for (NodeId& x : operands) {
    const Node& n = graph_.node(x);
    const bool is_row_major_input = n.op == Op::input && n.lengths.empty();
    if (info(n.op).family != Family::leaf || is_row_major_input) continue;
    Node copy = node(Op::broadcast, {x});
    copy.shape = n.shape;
    x = add(std::move(copy));
  }
  std::vector<NodeId> results;
  for (std::size_t i = 0; i < kernel->results.size(); ++i) {
    Node n = node(Op::call, operands);
    n.kernel = kernel;
    n.position = static_cast<int>(i);
    n.element = kernel->results[i].element;
    n.shape = kernel->results[i].shape;
    results.push_back(add(std::move(n)));
  }
  return results;
}

}  // namespace tilewright::graph
