// Errors, names, leaves and element-wise ops of the builder.
#include "tileir/graph/graph_builder.h"

#include <fmt/format.h>

#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"
#include "tileir/graph/shape_rules.h"

namespace tilewright::graph {

void GraphBuilder::begin_composite() {
  if (!composite_) composite_ = graph_.add_composite({function_, where_});
  most_axes_ = kMaxRank;
}

void GraphBuilder::fail(const std::string& message, std::span<const Party> parties) const {
  std::vector<Note> notes;
  for (const Party& party : parties)
    if (const Location& there = graph_.node(party.node).where; there.line > 0)
      notes.push_back({there, fmt::format("'{}' defined here", party.name)});
  throw Error(where_, fmt::format("{}: {}", function_, message), notes);
}

Node GraphBuilder::node(Op op, std::vector<NodeId> operands) const {
  Node n;
  n.op = op;
  n.operands = std::move(operands);
  n.where = where_;
  n.composite = composite_;
  return n;
}

NodeId GraphBuilder::add(Node n) {
  for (NodeId operand : n.operands) TW_CHECK(operand.index < graph_.size(), "an operand that is not in the graph");
  expect_own_symbols(n.shape);
  expect_own_symbols(n.lengths);
  Inferred inferred = infer(graph_, n);
  if (!inferred.ok()) fail(inferred.error, inferred.parties);
  n.shape = std::move(inferred.shape);
  n.element = inferred.element;
  if (const std::string problem = problem_of(n.shape, most_axes_); !problem.empty()) fail(problem);
  return graph_.append(std::move(n));
}

void GraphBuilder::expect_own_symbols(std::span<const Dim> extents) const {
  if (const std::string problem = problem_of_symbols(graph_, extents); !problem.empty()) fail(problem);
}

int GraphBuilder::axis(std::int64_t axis, int rank, const Party& of) const {
  if (rank == 0) fail(fmt::format("axis {} of '{}', which is a scalar and has no axes", axis, of.name), of);
  if (axis < -rank || axis >= rank)
    fail(fmt::format("axis {} is out of range: '{}' is {}, so it must be from {} to {}", axis, of.name, shape_text(shape(of.node)), -rank,
                     rank - 1),
         of);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

// ---- names and symbols -----------------------------------------------------------------------------------------------

void GraphBuilder::expect_new_name(const std::string& name) const {
  const auto taken = [&](std::string_view what, const Location& there) {
    throw Error(where_, fmt::format("{}: the name '{}' is given twice in this graph", function_, name),
                {{there, fmt::format("{} '{}' defined here", what, name)}});
  };
  if (name.empty()) fail("the name is empty");
  if (const auto id = graph_.find_input(name)) taken(graph_.node(*id).op == Op::scalar ? "scalar" : "input", graph_.node(*id).where);
  for (const Output& output : graph_.outputs())
    if (output.name == name) taken("output", output.where);
  if (const auto symbol = graph_.symbols()->find(name)) taken("symbol", (*graph_.symbols())[*symbol].where);
}

Dim GraphBuilder::dim(const std::string& name, const DimBounds& bounds) {
  expect_new_name(name);
  if (bounds.multiple_of < 1) fail(fmt::format("multiple_of = {} of '{}' must be 1 or more", bounds.multiple_of, name));
  if (bounds.min < 0) fail(fmt::format("min = {} of '{}' must not be negative", bounds.min, name));
  if (bounds.min > bounds.max) fail(fmt::format("min = {} of '{}' is above max = {}", bounds.min, name, bounds.max));
  if (bounds.max / bounds.multiple_of * bounds.multiple_of < bounds.min)
    fail(fmt::format("no multiple of {} is from min = {} to max = {} of '{}'", bounds.multiple_of, bounds.min, bounds.max, name));
  return graph_.symbols()->add(name, bounds, where_);
}

void GraphBuilder::output(const std::string& name, NodeId id) {
  expect_new_name(name);
  graph_.add_output({name, id, where_});
}

// ---- leaves ----------------------------------------------------------------------------------------------------------

NodeId GraphBuilder::input(const std::string& name, ir::Element element, TensorShape shape, std::vector<Dim> strides, bool is_parameter) {
  expect_new_name(name);
  Node n = node(Op::input);
  n.text = name;
  n.element = element;
  n.shape = std::move(shape);
  n.lengths = std::move(strides);
  n.is_parameter = is_parameter;
  return add(std::move(n));
}

NodeId GraphBuilder::scalar(const std::string& name, ir::Element element) {
  expect_new_name(name);
  Node n = node(Op::scalar);
  n.text = name;
  n.element = element;
  return add(std::move(n));
}

NodeId GraphBuilder::constant(ir::Element element, TensorShape shape, std::vector<std::uint64_t> bits) {
  Node n = node(Op::constant);
  n.element = element;
  n.shape = std::move(shape);
  if (bits.empty() && is_empty(n.shape)) bits = {0};  // one element that fills the shape
  n.data = std::make_shared<const ConstantData>(ConstantData{std::move(bits)});
  return add(std::move(n));
}

NodeId GraphBuilder::number(ir::Element element, double value) {
  return constant(element, {},
                  {ir::is_float(element) ? ir::element_bits(element, value) : ir::element_bits(element, static_cast<std::int64_t>(value))});
}

NodeId GraphBuilder::iota(ir::Element element, TensorShape shape, std::int64_t axis) {
  Node n = node(Op::iota);
  const std::int64_t rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis >= rank) fail(fmt::format("axis {} is out of range for shape {}", axis, shape_text(shape)));
  n.element = element;
  n.shape = std::move(shape);
  n.axes = {static_cast<int>(axis < 0 ? axis + rank : axis)};
  return add(std::move(n));
}

NodeId GraphBuilder::extent(ir::Element element, const Dim& length) {
  if (length.is_constant()) return number(element, static_cast<double>(length.value()));
  Node n = node(Op::extent);
  n.element = element;
  n.lengths = {length};
  return add(std::move(n));
}

NodeId GraphBuilder::rand(std::uint64_t seed, TensorShape shape) {
  Node n = node(Op::rand);
  n.element = ir::Element::f32;
  n.shape = std::move(shape);
  n.seed = seed;
  return add(std::move(n));
}

// ---- element-wise ----------------------------------------------------------------------------------------------------

NodeId GraphBuilder::map(ir::OpKind function, std::vector<NodeId> operands) {
  Node n = node(Op::map, std::move(operands));
  n.function = function;
  return add(std::move(n));
}

NodeId GraphBuilder::cast(NodeId x, ir::Element to) {
  if (element(x) == to) return x;
  Node n = node(Op::map, {x});
  n.function = ir::OpKind::cast_;
  n.element = to;
  return add(std::move(n));
}

NodeId GraphBuilder::bitcast(NodeId x, ir::Element to) {
  if (element(x) == to) return x;
  Node n = node(Op::map, {x});
  n.function = ir::OpKind::bitcast_;
  n.element = to;
  return add(std::move(n));
}

}  // namespace tilewright::graph
