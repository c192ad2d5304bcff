// Computes leaves, element-wise ops, shape ops and indexed reads at one element, by their definitions.
#include "passes/fusion/check/graph_values.h"

#include <algorithm>
#include <cmath>

#include "passes/fusion/check/field.h"
#include "passes/fusion/graph/moved_ones.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/function_nodes.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

namespace {

// Converts the result of an op to the node's type.
Number typed(const Node& n, graph::Integers integers, const Number& value) {
  const bool converts = integers == graph::Integers::position || (integers == graph::Integers::computed && ir::is_integer(n.element));
  return converts ? cast(value, Element::i64, n.element) : value;
}

// Applies an element-wise op to elements of this type.
Number apply(const Node& n, Element of, std::span<const Number> x) {
  if (n.function == OpKind::cast_) return cast(x[0], of, n.element);
  if (n.function == OpKind::bitcast_) return bitcast(x[0], of, n.element);
  if (n.function == OpKind::select_) return !x[0].is_known() ? Number::unknown() : x[0].is_true() ? x[1] : x[2];
  return ir::is_float(of) ? apply_float(n.function, x) : apply_integer(n.function, x, of, n.element);
}

// Ops whose operands have elements at the coordinates of the result.
bool keeps_coordinates(const graph::Graph& g, const Node& n) {
  return n.op == Op::iota || n.op == Op::map || n.op == Op::broadcast || n.op == Op::permute || n.op == Op::materialize ||
         n.op == Op::reduce || n.op == Op::einsum || n.op == Op::gather || n.op == Op::take_along || moves_ones(g, n);
}

// Whether a coordinate means one of several positions that one represents.
bool is_of_many(const Coordinates& position) {
  return std::any_of(position.begin(), position.end(), [](std::int64_t c) { return meant_by(c) > 0; });
}

std::int64_t linear(const Coordinates& position, std::span<const std::int64_t> shape) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) all = all * shape[i] + position[i];
  return all;
}

}  // namespace

Number stored_element(const graph::Graph& g, NodeId id, const Sample& sample, const Coordinates& index) {
  const Node& n = g.node(id);
  const std::span<const std::int64_t> shape = sample.shape(id);
  Coordinates position = index;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (index[i] < 0 || index[i] >= shape[i]) return Number::unknown();
    position[i] = position_of(sample.coordinate(shape[i], index[i], 0));
  }
  if (n.op != Op::constant) return sample.element(id.index, n.element, position);
  const std::vector<std::uint64_t>& bits = n.data->bits;
  Number value = from_bits(n.element, bits[bits.size() == 1 ? 0 : static_cast<std::size_t>(linear(position, shape))]);
  // A rounded constant may represent the fraction that rounds to it.
  if (bits.size() == 1 && ir::is_float(n.element)) {
    const auto v = static_cast<double>(value.value);
    const auto fraction = n.element == Element::f64 ? ir::intended_fraction(v) : ir::intended_fraction(static_cast<float>(v));
    if (fraction) value.error = std::fabs(number(*fraction).value - value.value);
  }
  return value;
}

Number combined(const graph::Graph& g, NodeId function, const Number& earlier, const Number& later) {
  std::unordered_map<std::uint32_t, Number> known;
  for (NodeId id : graph::function_nodes(g, function)) {
    const Node& n = g.node(id);
    std::vector<Number> x;
    for (NodeId operand : n.operands) x.push_back(known.at(operand.index));
    switch (n.op) {
      case Op::argument: known[id.index] = n.position == 0 ? earlier : later; break;
      case Op::constant: known[id.index] = from_bits(n.element, n.data->bits[0]); break;
      case Op::map: known[id.index] = apply(n, g.node(n.operands.back()).element, x); break;
      default: return Number::unknown();
    }
  }
  return known.at(function.index);
}

std::size_t GraphValues::KeyHash::operator()(const Key& k) const {
  std::uint64_t h = k.node.index;
  for (std::int64_t p : k.position) h = mix(h, static_cast<std::uint64_t>(p));
  return h;
}

Number GraphValues::value(NodeId n, const Coordinates& position) { return values_.value({n, position}); }

Number GraphValues::compute(const Key& k) {
  const Node& n = g_.node(k.node);
  if (is_of_many(k.position) && (axes_.is_stored(k.node) || !keeps_coordinates(g_, n))) {
    Key visited = k;
    for (std::int64_t& c : visited.position) c = position_of(c);
    return values_.get(visited);
  }
  if (axes_.is_stored(k.node)) return stored_element(g_, k.node, sample_, k.position);
  if (graph::has_empty_operand(g_, n) && n.op != Op::pad && n.op != Op::concat) return from_bits(n.element, graph::bits_of_nothing(n));
  switch (n.op) {
#define TW_GRAPH_OP(name, family, operands, integers, ...) \
  case Op::name: return typed(n, graph::Integers::integers, run_##name(k));
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  }
  TW_UNREACHABLE("an op of a graph");
}

// ---- leaves ----

Number GraphValues::run_input(const Key& k) { return stored_element(g_, k.node, sample_, k.position); }
Number GraphValues::run_scalar(const Key& k) { return stored_element(g_, k.node, sample_, k.position); }
Number GraphValues::run_constant(const Key& k) { return stored_element(g_, k.node, sample_, k.position); }
Number GraphValues::run_iota(const Key& k) { return index_number(k.position[static_cast<std::size_t>(g_.node(k.node).axes[0])]); }
Number GraphValues::run_extent(const Key& k) { return exact_number(sample_.value(g_.node(k.node).lengths[0])); }
Number GraphValues::run_rand(const Key& k) {
  return sample_.uniform(g_.node(k.node).seed, exact_number(linear(k.position, sample_.shape(k.node))));
}
Number GraphValues::run_argument(const Key&) { return Number::unknown(); }
Number GraphValues::run_call(const Key&) { return Number::unknown(); }

// ---- element-wise ----

Number GraphValues::run_map(const Key& k) {
  const Node& n = g_.node(k.node);
  InlineVector<Number, 3> x;
  const auto at = [&](std::size_t i) {
    const graph::TensorShape& shape = g_.node(n.operands[i]).shape;
    Coordinates p(k.position.end() - static_cast<std::ptrdiff_t>(shape.size()), k.position.end());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] == Dim(1)) p[axis] = 0;
    return operand(n, i, p);
  };
  if (n.op == Op::map && n.function == OpKind::select_) {
    // The value that the condition does not choose may be undefined.
    const Number condition = at(0);
    if (values_.is_missing()) return {};
    return condition.is_known() ? at(condition.is_true() ? 1 : 2) : Number::unknown();
  }
  for (std::size_t i = 0; i < n.operands.size(); ++i) x.push_back(at(i));
  return values_.is_missing()    ? Number{}
         : n.op == Op::broadcast ? x[0]
                                 : apply(n, g_.node(n.operands.back()).element, {x.begin(), x.size()});
}
Number GraphValues::run_broadcast(const Key& k) { return run_map(k); }

// ---- shape ----

Number GraphValues::run_reshape(const Key& k) {
  const Node& n = g_.node(k.node);
  if (is_of_many(k.position)) return operand(n, 0, without_moved_ones(n, k.position));
  std::int64_t rest = linear(k.position, sample_.shape(k.node));
  Coordinates p(g_.node(n.operands[0]).shape.size());
  for (std::size_t axis = p.size(); axis-- > 0;) {
    p[axis] = rest % extent(n, 0, axis);
    rest /= extent(n, 0, axis);
  }
  return operand(n, 0, p);
}
// The coordinates of the operand of a reshape that only adds and removes axes of extent 1.
Coordinates GraphValues::without_moved_ones(const Node& reshape, const Coordinates& position) const {
  const graph::TensorShape& shape = g_.node(reshape.operands[0]).shape;
  Coordinates p(shape.size());
  std::size_t own = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (is_one(shape[axis])) continue;
    while (is_one(reshape.shape[own])) ++own;
    p[axis] = position[own++];
  }
  return p;
}
Number GraphValues::run_permute(const Key& k) {
  const Node& n = g_.node(k.node);
  Coordinates p(k.position.size());
  for (std::size_t i = 0; i < p.size(); ++i) p[static_cast<std::size_t>(n.axes[i])] = k.position[i];
  return operand(n, 0, p);
}
Number GraphValues::run_slice(const Key& k) {
  const Node& n = g_.node(k.node);
  Coordinates p = k.position;
  std::int64_t& i = p[static_cast<std::size_t>(n.axes[0])];
  i = sample_.value(n.lengths[0]) + i * sample_.value(n.lengths[2]);
  return operand(n, 0, p);
}
Number GraphValues::run_flip(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  Coordinates p = k.position;
  p[axis] = extent(n, 0, axis) - 1 - p[axis];
  return operand(n, 0, p);
}
Number GraphValues::run_rotate(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  Coordinates p = k.position;
  // Element i has come to (i + offset) mod n.
  p[axis] = (p[axis] - sample_.value(n.lengths[0])) % extent(n, 0, axis);
  if (p[axis] < 0) p[axis] += extent(n, 0, axis);
  return operand(n, 0, p);
}
Number GraphValues::run_materialize(const Key& k) { return operand(g_.node(k.node), 0, k.position); }
Number GraphValues::run_window(const Key& k) {
  const Node& n = g_.node(k.node);
  Coordinates p = k.position;
  const std::int64_t element = p.back();
  p.pop_back();
  std::int64_t& i = p[static_cast<std::size_t>(n.axes[0])];
  i = i * sample_.value(n.lengths[1]) + element * sample_.value(n.lengths[2]);
  return operand(n, 0, p);
}
Number GraphValues::run_concat(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  Coordinates p = k.position;
  std::size_t i = 0;
  for (; i + 1 < n.operands.size() && p[axis] >= extent(n, i, axis); ++i) p[axis] -= extent(n, i, axis);
  return operand(n, i, p);
}
Number GraphValues::run_pad(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  Coordinates p = k.position;
  p[axis] -= sample_.value(n.lengths[0]);
  const bool is_inside = p[axis] >= 0 && p[axis] < extent(n, 0, axis);
  return is_inside ? operand(n, 0, p) : operand(n, 1, {});
}

// ---- indexed ----

// The coordinate along the indexed axis of a table that an index names, if that element is compared. If the table's value contains a
// reduction, kernels select the element by a sum with one term: it must visit the position once, or tell apart those that one represents.
std::optional<std::int64_t> GraphValues::selected(const Key& k, const Number& index) {
  const Node& n = g_.node(k.node);
  if (index.error != 0 || !index.is_finite()) return std::nullopt;
  const auto position = static_cast<std::int64_t>(index.value), coordinate = coordinate_of(position, index.meant);
  const std::int64_t all = extent(n, 0, static_cast<std::size_t>(n.axes[0]));
  if (position < 0 || position >= all) return std::nullopt;
  if (!holds_reduction(n.operands[0])) return coordinate;
  const auto [at, is_new] = indexed_.try_emplace(k.node.index);
  Indexed& indexed = at->second;
  if (is_new) {
    const AtomList axis = axes_.operand_atoms(k.node, 0)[static_cast<std::size_t>(n.axes[0])];
    indexed.positions = positions(axis, true);
    const auto is_whole = [](const AtomList& a) { return a.size() == 1 && graph::flat(a).size() == 1 && a[0]->pieces.empty(); };
    const TensorAtoms own = axes_.atoms(k.node);
    const auto is_one_or_whole = [&](const AtomList& a) { return a.empty() || is_whole(a); };
    indexed.divides = sample_.relates_indices() && is_whole(axis) && std::all_of(own.begin(), own.end(), is_one_or_whole);
  }
  for (const SampledPosition& s : indexed.positions) {
    if (s.position != position) continue;
    const bool is_meant = std::find(k.position.begin(), k.position.end(), coordinate) != k.position.end();
    if (s.weight == 1 || (indexed.divides && is_meant)) return coordinate;
  }
  return std::nullopt;
}

bool GraphValues::holds_reduction(NodeId id) {
  // Operands come before their users.
  for (auto i = static_cast<std::uint32_t>(holds_reduction_.size()); i <= id.index; ++i) {
    const Node& n = g_.node({i});
    const auto holds = [&](NodeId x) { return holds_reduction_[x.index]; };
    holds_reduction_.push_back(!axes_.is_stored({i}) &&
                               (graph::combines_elements(n.op) || std::any_of(n.operands.begin(), n.operands.end(), holds)));
  }
  return holds_reduction_[id.index];
}

Number GraphValues::run_gather(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::ptrdiff_t>(n.axes[0]);
  const auto rank = static_cast<std::ptrdiff_t>(g_.node(n.operands[1]).shape.size());
  const auto begin = k.position.begin() + axis;
  const Number index = operand(n, 1, Coordinates(begin, begin + rank));
  if (values_.is_missing()) return {};
  const std::optional<std::int64_t> coordinate = selected(k, index);
  if (!coordinate) return Number::unknown();
  Coordinates p(k.position.begin(), begin);
  p.push_back(*coordinate);
  p.append(begin + rank, k.position.end());
  return operand(n, 0, p);
}

Number GraphValues::run_take_along(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  Coordinates p = k.position;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (g_.node(n.operands[1]).shape[i] == Dim(1)) p[i] = 0;
  const Number index = operand(n, 1, p);
  if (values_.is_missing()) return {};
  const std::optional<std::int64_t> coordinate = selected(k, index);
  if (!coordinate) return Number::unknown();
  p = k.position;
  p[axis] = *coordinate;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (i != axis && g_.node(n.operands[0]).shape[i] == Dim(1)) p[i] = 0;
  return operand(n, 0, p);
}

// This node has kernels of its own, which are not derived.
Number GraphValues::run_scatter_add(const Key&) { return Number::unknown(); }

}  // namespace tilewright::passes::fusion
