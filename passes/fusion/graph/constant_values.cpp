// Asks the interpreter for one node at a time, in a graph in which constants replace its operands.
#include "passes/fusion/graph/constant_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "passes/fusion/thresholds.h"
#include "tileir/builder.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/function_nodes.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/interpreter.h"
#include "tileir/interpreter/evaluate_scalar.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

// The least normal number of the type. Results of 8 and 16 bits are compared to the bit.
double least_normal(Element e) { return e == Element::f64 ? 0x1p-1022 : 0x1p-126; }

// Whether the type of a map decides on the constant that it computes.
bool is_typed_number(const Node& n, std::uint64_t bits) {
  if (!ir::is_float(n.element) || n.function == OpKind::cast_ || n.function == OpKind::bitcast_ || ir::bits(n.element) <= 16) return true;
  const double size = std::fabs(ir::float_value(n.element, bits));
  return !std::isfinite(size) || size < least_normal(n.element);
}

// Whether the op never has a constant value: it is not computed from operands that may be constants, or its result is in memory.
bool is_opaque(Op op) {
  switch (op) {
    case Op::input:
    case Op::scalar:
    case Op::iota:
    case Op::extent:
    case Op::rand:
    case Op::argument:
    case Op::scatter_add:
    case Op::materialize:
    case Op::call: return true;
    default: return false;
  }
}

bool takes_elements(const Node& n) { return !moved_operands(n).empty() || n.op == Op::gather || n.op == Op::take_along; }

bool is_extreme(Combine kind) { return kind == Combine::max || kind == Combine::min || kind == Combine::any || kind == Combine::all; }

// Whether kernels compute a float exactly if the type can hold it. A division may become a product, and a sum may have any order.
bool keeps_exact(const Node& n) {
  if (n.op == Op::reduce || n.op == Op::scan) return is_extreme(n.kind);
  if (n.op != Op::map || n.element == Element::f64) return false;
  switch (n.function) {
    case OpKind::add_:
    case OpKind::sub_:
    case OpKind::mul_:
    case OpKind::fma_:
    case OpKind::neg_:
    case OpKind::abs_:
    case OpKind::maximum_:
    case OpKind::minimum_:
    case OpKind::cast_:
    case OpKind::bitcast_: return true;
    default: return false;
  }
}

// The elements of a shape, or none if a symbol decides or they are too many.
std::optional<std::size_t> count_of(const graph::TensorShape& shape) {
  std::size_t count = 1;
  for (const Dim& d : shape) {
    if (!d.is_constant()) return std::nullopt;
    const auto extent = static_cast<std::size_t>(d.value());
    if (extent != 0 && count > kMostFoldedElements / extent) return std::nullopt;
    count *= extent;
  }
  return count;
}

// Whether a sum or a product of floats may leave the range of its accumulator if the terms have another order.
bool depends_on_order(const Node& n, const Node& operand, const graph::ConstantData& data) {
  const bool is_product = n.kind == Combine::prod;
  if ((n.op != Op::reduce && n.op != Op::scan) || (n.kind != Combine::sum && !is_product) || !ir::is_float(n.element)) return false;
  const Element accumulator = n.element == Element::f64 ? Element::f64 : Element::f32;
  long double great = is_product ? 1 : 0, small = 1;
  for (std::size_t i = 0; i < *count_of(operand.shape); ++i) {
    const long double size = std::fabs(ir::float_value(n.element, data.bits[data.bits.size() == 1 ? 0 : i]));
    if (!std::isfinite(size) || size == 0) continue;
    great = is_product ? great * std::max(size, 1.0L) : great + size;
    if (is_product) small *= std::min(size, 1.0L);
  }
  return !std::isfinite(ir::float_value(accumulator, ir::element_bits(accumulator, static_cast<double>(great)))) ||
         small < least_normal(accumulator);
}

bool divides_by_zero(const Node& n, Element divisor, const graph::ConstantData& data) {
  if (n.op != Op::map || (n.function != OpKind::div_ && n.function != OpKind::rem_) || ir::is_float(divisor)) return false;
  return std::find(data.bits.begin(), data.bits.end(), 0) != data.bits.end();
}

NodeId append_cast(Graph& g, NodeId x, Element to) {
  Node cast;
  cast.op = Op::map;
  cast.function = OpKind::cast_;
  cast.element = to;
  cast.shape = g.node(x).shape;
  cast.operands = {x};
  return g.append(std::move(cast));
}

// Copies the function of a reduction.
NodeId copy_function(const Graph& from, NodeId function, Graph& to) {
  std::map<NodeId, NodeId> copies;
  for (NodeId id : graph::function_nodes(from, function)) {
    Node n = from.node(id);
    n.composite.reset();
    for (NodeId& x : n.operands) x = copies.at(x);
    copies[id] = to.append(std::move(n));
  }
  return copies.at(function);
}

bool is_one_number(const std::vector<std::uint64_t>& bits) {
  return std::all_of(bits.begin(), bits.end(), [&](std::uint64_t b) { return b == bits[0]; });
}

std::shared_ptr<const graph::ConstantData> data_of(std::vector<std::uint64_t> bits) {
  if (is_one_number(bits)) bits.resize(1);
  return std::make_shared<graph::ConstantData>(graph::ConstantData{std::move(bits)});
}

}  // namespace

std::vector<std::size_t> moved_operands(const Node& n) {
  if (n.op == Op::map && n.function == OpKind::select_) return {1, 2};
  if (graph::is_view(n.op)) return {0};
  std::vector<std::size_t> all;
  if (n.op == Op::concat || n.op == Op::pad)
    for (std::size_t i = 0; i < n.operands.size(); ++i) all.push_back(i);
  return all;
}

std::optional<ConstantValue> ConstantValues::value_of(const Node& n) const {
  if (is_opaque(n.op)) return std::nullopt;
  if (n.op == Op::constant) {
    if (n.data->bits.empty() || n.data->bits.size() > kMostFoldedElements) return std::nullopt;
    return ConstantValue{.data = is_one_number(n.data->bits) ? data_of({n.data->bits[0]}) : n.data, .is_computed = false};
  }
  ConstantValue result;
  bool are_uniform = true;
  for (NodeId x : n.operands) {
    const std::optional<ConstantValue>& value = values_[x.index];
    if (!value || divides_by_zero(n, g_.node(x).element, *value->data)) return std::nullopt;
    result.is_exact = result.is_exact && value->is_exact;
    are_uniform = are_uniform && value->is_uniform();
  }
  if (are_uniform)
    if (const std::optional<std::uint64_t> bits = uniform_bits(n)) {
      result.data = data_of({*bits});
      return result;
    }
  if (are_uniform && n.op == Op::map) return uniform_map(n);
  if (!is_small(n)) return std::nullopt;
  try {
    const graph::Array typed = interpreted(n, graph::Rounding::as_typed);
    result.data = data_of(typed.bits);
    if (!takes_elements(n)) compare_with_wide(n, typed, result);
  } catch (const Error&) {  // an index is out of range: the run reports it
    return std::nullopt;
  }
  return result;
}

// The elements of an op that chooses among equal elements, of any number.
std::optional<std::uint64_t> ConstantValues::uniform_bits(const Node& n) const {
  const auto bits = [&](std::size_t i) { return values_[n.operands[i].index]->data->bits[0]; };
  const std::vector<std::size_t> moved = moved_operands(n);
  const bool is_one = !moved.empty() && std::all_of(moved.begin(), moved.end(), [&](std::size_t i) { return bits(i) == bits(moved[0]); });
  if (is_one) return bits(moved[0]);
  if (n.op == Op::scan && is_extreme(n.kind)) return bits(0);
  if (n.op != Op::reduce || !is_extreme(n.kind)) return std::nullopt;
  const graph::TensorShape& shape = operand(n, 0).shape;
  const bool has_elements = std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return d.least() > 0; });
  return has_elements ? std::optional(bits(0)) : std::nullopt;
}

std::optional<ConstantValue> ConstantValues::uniform_map(const Node& n) const {
  std::vector<ir::Type> types;
  std::vector<std::uint64_t> bits;
  ConstantValue result;
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    types.emplace_back(operand(n, i).element);
    bits.push_back(values_[n.operands[i].index]->data->bits[0]);
  }
  const bool is_same = n.function == OpKind::cast_ && types[0] == ir::Type(n.element);
  const std::uint64_t value = is_same ? bits[0] : ir::evaluate_scalar(n.function, types, bits, ir::Type(n.element));
  result.data = data_of({value});
  result.depends_on_type = is_typed_number(n, value);
  result.is_exact = result.depends_on_type;  // it is folded, or its rounding may move
  return result;
}

void ConstantValues::push_back(std::optional<ConstantValue> value) {
  if (value && value->is_computed && !value->is_uniform()) computed_ += value->data->bits.size();
  values_.push_back(std::move(value));
}

// Whether the interpreter computes the node in a short time, and its shape and attributes have no symbols.
bool ConstantValues::is_small(const Node& n) const {
  if (computed_ >= kMostFoldedElementsOfGraph) return false;
  if (std::any_of(n.lengths.begin(), n.lengths.end(), [](const Dim& d) { return !d.is_constant(); })) return false;
  const std::optional<std::size_t> own = count_of(n.shape);
  if (!own || *own == 0) return false;
  for (NodeId x : n.operands)
    if (!count_of(g_.node(x).shape)) return false;
  if (n.op != Op::einsum) return true;
  const graph::Equation equation = graph::parse_equation(n.text, false).equation;
  std::map<char, Dim> labels;
  for (std::size_t k = 0; k < n.operands.size(); ++k)
    for (std::size_t i = 0; i < equation.operands[k].size(); ++i) labels[equation.operands[k][i]] = operand(n, k).shape[i];
  graph::TensorShape space;
  for (const auto& [label, extent] : labels) space.push_back(extent);
  return count_of(space).has_value();
}

graph::Array ConstantValues::interpreted(const Node& n, graph::Rounding rounding) const {
  Graph one(g_.symbols());
  Node own = n;
  own.composite.reset();
  for (NodeId& x : own.operands) {
    Node constant;
    constant.op = Op::constant;
    constant.element = g_.node(x).element;
    constant.shape = g_.node(x).shape;
    constant.data = values_[x.index]->data;
    x = one.append(std::move(constant));
  }
  const bool accumulates = (n.op == Op::reduce || n.op == Op::scan) && (n.kind == Combine::sum || n.kind == Combine::prod);
  if (accumulates && ir::is_float(n.element) && ir::bits(n.element) <= 16) {
    own.operands[0] = append_cast(one, own.operands[0], Element::f32);
    own.element = Element::f32;
    return graph::interpret(one, append_cast(one, one.append(std::move(own)), n.element), {}, rounding);
  }
  if (n.combiner.valid()) own.combiner = copy_function(g_, n.combiner, one);
  return graph::interpret(one, one.append(std::move(own)), {}, rounding);
}

// Compares the elements with those that the node has if it is computed from the same operands in f64.
void ConstantValues::compare_with_wide(const Node& n, const graph::Array& typed, ConstantValue& value) const {
  const Element e = n.element;
  if (!ir::is_float(e)) {
    value.depends_on_type = !value.is_exact;
    return;
  }
  value.depends_on_type = depends_on_order(n, operand(n, 0), *values_[n.operands[0].index]->data);
  const graph::Array wide = interpreted(n, graph::Rounding::double_precision);
  const bool adds = n.op == Op::map && (n.function == OpKind::add_ || n.function == OpKind::sub_);
  for (std::size_t i = 0; i < typed.bits.size(); ++i) {
    const double t = ir::float_value(e, typed.bits[i]), w = ir::float_value(wide.element, wide.bits[i]);
    const bool is_same = t == w || (std::isnan(t) && std::isnan(w));
    const bool is_far = !std::isfinite(t) || std::fabs(t) < least_normal(e);
    // No type is wider than f64, so an f64 that may be out of range counts as decided by its type.
    const bool decides = ir::bits(e) <= 16 ? !is_same : e == Element::f32 ? !is_same && (is_far || !std::isfinite(w)) : is_far && !adds;
    value.depends_on_type = value.depends_on_type || decides;
    value.is_exact = value.is_exact && is_same && keeps_exact(n);
  }
}

}  // namespace tilewright::passes::fusion
