// Computes each tensor op at one element, by its definition.
#include "passes/fusion/check/graph_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "passes/fusion/check/field.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"
#include "tileir/op_info.h"

namespace tilewright::passes::fusion {

using graph::Combine;
using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;
using ir::OpKind;

namespace {

Number real(std::int64_t v) { return {static_cast<long double>(v), 0}; }

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

std::int64_t linear(const Coordinates& position, std::span<const std::int64_t> shape) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) all = all * shape[i] + position[i];
  return all;
}

}  // namespace

Number stored_element(const graph::Graph& g, NodeId id, const Sample& sample, const Coordinates& position) {
  const Node& n = g.node(id);
  const std::span<const std::int64_t> shape = sample.shape(id);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (position[i] < 0 || position[i] >= shape[i]) return Number::unknown();
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

Number combined(Combine kind, Element e, const Number& a, const Number& b) {
  const std::array both{a, b};
  const auto apply_op = [&](OpKind op) { return ir::is_float(e) ? apply_float(op, both) : apply_integer(op, both, e, e); };
  switch (kind) {
    case Combine::sum: return apply_op(OpKind::add_);
    case Combine::prod: return apply_op(OpKind::mul_);
    case Combine::max: return apply_op(OpKind::maximum_);
    case Combine::min: return apply_op(OpKind::minimum_);
    case Combine::any:
    case Combine::all: {
      const bool decides = kind == Combine::any;
      for (const Number& x : both)
        if (x.is_known() && x.is_true() == decides) return {decides ? 1.0L : 0.0L};
      return a.is_known() && b.is_known() ? Number{decides ? 0.0L : 1.0L} : Number::unknown();
    }
    default: return Number::unknown();
  }
}

Number combined(const graph::Graph& g, NodeId function, const Number& earlier, const Number& later) {
  std::unordered_map<std::uint32_t, Number> known;
  std::vector<NodeId> stack{function};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    const Node& n = g.node(id);
    std::vector<Number> x;
    for (NodeId operand : n.operands) {
      if (const auto at = known.find(operand.index); at != known.end())
        x.push_back(at->second);
      else
        stack.push_back(operand);
    }
    if (x.size() < n.operands.size()) continue;
    stack.pop_back();
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
Number GraphValues::run_iota(const Key& k) { return real(k.position[static_cast<std::size_t>(g_.node(k.node).axes[0])]); }
Number GraphValues::run_extent(const Key& k) { return real(sample_.value(g_.node(k.node).lengths[0])); }
Number GraphValues::run_rand(const Key& k) {
  return sample_.uniform(g_.node(k.node).seed, real(linear(k.position, sample_.shape(k.node))));
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
  std::int64_t rest = linear(k.position, sample_.shape(k.node));
  Coordinates p(g_.node(n.operands[0]).shape.size());
  for (std::size_t axis = p.size(); axis-- > 0;) {
    p[axis] = rest % extent(n, 0, axis);
    rest /= extent(n, 0, axis);
  }
  return operand(n, 0, p);
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

// ---- reductions and products ----

// Indexed by axis of the operand; empty for an axis that is not reduced.
const std::vector<std::vector<SampledPosition>>& GraphValues::reduced_positions(NodeId id) {
  const auto [at, is_new] = reduced_.try_emplace(id.index);
  if (!is_new) return at->second;
  const Node& n = g_.node(id);
  const TensorAtoms atoms = axes_.operand_atoms(id, 0);
  at->second.resize(atoms.size());
  // A reduction by a function need not be commutative, so its axes are not split.
  for (int axis : n.axes)
    at->second[static_cast<std::size_t>(axis)] = sample_.positions(atoms[static_cast<std::size_t>(axis)], n.kind != Combine::combine);
  return at->second;
}

template <class F>
void GraphValues::for_each_reduced(const Key& k, F&& body) {
  const Node& n = g_.node(k.node);
  const std::vector<std::vector<SampledPosition>>& reduced = reduced_positions(k.node);
  Coordinates p(reduced.size());
  const auto visit = [&](const auto& self, std::size_t axis, std::size_t kept, std::int64_t weight) -> void {
    if (axis == p.size()) return body(p, weight);
    if (std::find(n.axes.begin(), n.axes.end(), static_cast<int>(axis)) == n.axes.end()) {
      p[axis] = k.position[kept];
      return self(self, axis + 1, kept + 1, weight);
    }
    for (const SampledPosition& s : reduced[axis]) {
      p[axis] = s.position;
      self(self, axis + 1, kept + (n.keep_dims ? 1 : 0), weight * s.weight);
    }
  };
  visit(visit, 0, 0, 1);
}

Number GraphValues::run_reduce(const Key& k) {
  const Node& n = g_.node(k.node);
  const Element of = g_.node(n.operands[0]).element;
  const bool is_position = n.kind == Combine::argmax || n.kind == Combine::argmin;
  bool is_first = true;
  Number result, position;
  for_each_reduced(k, [&](const Coordinates& p, std::int64_t weight) {
    const Number x = operand(n, 0, p);
    if (values_.is_missing()) return;
    if (is_position) {
      // The position within the reduced axes; of equal elements the first one.
      std::int64_t at = 0;
      for (int axis : n.axes) at = at * extent(n, 0, static_cast<std::size_t>(axis)) + p[static_cast<std::size_t>(axis)];
      const bool is_open = !is_first && result.is_known() && x.is_known() && x.error + result.error > 0 &&
                           std::fabs(x.value - result.value) <= x.error + result.error;
      const bool is_nan = std::isnan(x.value), was_nan = std::isnan(result.value);
      const bool is_better =
          is_first || (!was_nan && (is_nan || (n.kind == Combine::argmax ? x.value > result.value : x.value < result.value)));
      if (!x.is_known() || is_open || (!is_first && !position.is_known()))
        position = Number::unknown();
      else if (is_better)
        position = real(at);
      if (is_better) result = x;
    } else if (n.kind == Combine::combine) {
      result = is_first ? x : combined(g_, n.combiner, result, x);
    } else {
      // Narrow integers are summed in the type to which they are widened.
      const Number own = n.kind == Combine::sum && n.element != of ? cast(x, of, n.element) : x;
      const Number weighted = n.kind != Combine::sum    ? own
                              : ir::is_float(n.element) ? own * real(weight)
                                                        : apply_integer(OpKind::mul_, std::array{own, real(weight)}, n.element, n.element);
      result = is_first ? weighted : combined(n.kind, n.element, result, weighted);
    }
    is_first = false;
  });
  return is_position ? position : result;
}

Number GraphValues::run_scan(const Key& k) {
  const Node& n = g_.node(k.node);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  const std::int64_t here = k.position[axis];
  AxisPositions all = sample_.positions(sample_.shape(k.node)[axis]);
  if (n.reverse) std::reverse(all.begin(), all.end());
  bool is_first = true;
  Number result = combined(Combine::sum, n.element, {}, {});
  for (const SampledPosition& s : all) {
    if (n.reverse ? s.position < here : s.position > here) continue;
    Coordinates p = k.position;
    p[axis] = s.position;
    const Number x = operand(n, 0, p);
    if (values_.is_missing()) continue;
    result = is_first ? x : combined(n.kind, n.element, result, x);
    is_first = false;
  }
  return is_first && !values_.is_missing() ? Number::unknown() : result;
}

const GraphValues::Product& GraphValues::product_of(NodeId id) {
  const auto [found, is_new] = products_.try_emplace(id.index);
  Product& product = found->second;
  if (!is_new) return product;
  const Node& n = g_.node(id);
  std::string labels;  // indexed by number
  const auto number = [&](char c) {
    const std::size_t at = labels.find(c);
    if (at != labels.npos) return at;
    labels += c;
    return labels.size() - 1;
  };
  const std::size_t arrow = n.text.find("->");
  for (char c : n.text.substr(arrow + 2)) product.free.push_back(number(c));
  const std::size_t free = labels.size();
  for (const auto& [label, atoms] : axes_.labels(id))
    if (number(label) >= free) product.bound.push_back(sample_.positions(atoms));
  std::size_t at = 0;
  for (NodeId x : n.operands) {
    std::vector<std::size_t>& axes = product.operands.emplace_back();
    for (const Dim& d : g_.node(x).shape) {
      const char c = n.text[at++];
      axes.push_back(d == Dim(1) ? kOne : number(c));
    }
    ++at;
  }
  return product;
}

Number GraphValues::run_einsum(const Key& k) {
  const Node& n = g_.node(k.node);
  const Product& product = product_of(k.node);
  Coordinates at;  // indexed by number of the label
  for (std::size_t i = 0; i < k.position.size(); ++i) {
    if (product.free[i] == at.size()) at.push_back(0);
    at[product.free[i]] = k.position[i];
  }
  Number sum;
  const auto visit = [&](const auto& self, std::size_t next, std::int64_t weight) -> void {
    if (next < product.bound.size()) {
      for (const SampledPosition& s : product.bound[next]) {
        at.push_back(s.position);
        self(self, next + 1, weight * s.weight);
        at.pop_back();
      }
      return;
    }
    Number term = real(weight);
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      Coordinates p;
      for (std::size_t label : product.operands[i]) p.push_back(label == kOne ? 0 : at[label]);
      term = term * operand(n, i, p);
    }
    sum = sum + term;
  };
  visit(visit, 0, 1);
  return sum;
}

// ---- indexed ----

// Whether the element that an index names is compared. If the value contains a reduction, a sum with one term selects the element, which
// visits the first positions once.
bool GraphValues::is_selectable(NodeId table, std::int64_t extent, const Number& index) {
  if (index.error != 0) return false;
  if (!holds_reduction(table)) return index.value >= 0 && index.value < static_cast<long double>(extent);
  for (const SampledPosition& s : sample_.positions(extent))
    if (static_cast<long double>(s.position) == index.value) return s.weight == 1;
  return false;
}

bool GraphValues::holds_reduction(NodeId id) {
  // Operands come before their users.
  for (auto i = static_cast<std::uint32_t>(holds_reduction_.size()); i <= id.index; ++i) {
    const Node& n = g_.node({i});
    const bool is_reduction = n.op == Op::reduce || n.op == Op::einsum || n.op == Op::scan;
    const auto holds = [&](NodeId x) { return holds_reduction_[x.index]; };
    holds_reduction_.push_back(!axes_.is_stored({i}) && (is_reduction || std::any_of(n.operands.begin(), n.operands.end(), holds)));
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
  if (!is_selectable(n.operands[0], extent(n, 0, static_cast<std::size_t>(axis)), index)) return Number::unknown();
  Coordinates p(k.position.begin(), begin);
  p.push_back(static_cast<std::int64_t>(index.value));
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
  if (!is_selectable(n.operands[0], extent(n, 0, axis), index)) return Number::unknown();
  p = k.position;
  p[axis] = static_cast<std::int64_t>(index.value);
  for (std::size_t i = 0; i < p.size(); ++i)
    if (i != axis && g_.node(n.operands[0]).shape[i] == Dim(1)) p[i] = 0;
  return operand(n, 0, p);
}

// This node has kernels of its own, which are not derived.
Number GraphValues::run_scatter_add(const Key&) { return Number::unknown(); }

}  // namespace tilewright::passes::fusion
