// Translates leaves, reductions and indexed reads.
#include "passes/fusion/translate/graph_to_exprs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/builder.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::Element;

AxisSet axes_of(const AxisPosition& position) {
  AxisSet all;
  for (Expr e : position.parts) all.insert(e->axes);
  return all;
}

AxisSet axes_of(const Position& position) {
  AxisSet all;
  for (const AxisPosition& p : position) all.insert(axes_of(p));
  return all;
}

}  // namespace

GraphToExprs::GraphToExprs(const graph::Graph& g, const AxisAnalysis& axes, ExprBuilder& b, Options options)
    : g_(g), axes_(axes), b_(b), options_(std::move(options)), has_signed_zeros_(nodes_with_signed_zeros(g)) {
  b_.pool().set_graph(g);
  name_axes();
}

// ---- positions ----

Expr GraphToExprs::combine(const std::vector<Expr>& parts, const AtomList& atoms) {
  Expr position = b_.zero();
  for (std::size_t i = 0; i < parts.size(); ++i) position = b_.add({b_.product({position, b_.extent(atoms[i]->extent)}), parts[i]});
  return position;
}

Expr GraphToExprs::whole(const AxisPosition& p, const AtomList& atoms) {
  if (p.is_whole) return p.parts[0];
  if (p.parts.empty()) return b_.zero();
  return combine(p.parts, atoms);
}

AxisPosition GraphToExprs::parts(const AxisPosition& p, const AtomList& atoms) {
  if (!p.is_whole) {
    TW_CHECK(p.parts.size() == atoms.size(), "fusion: a position has other atoms than its axis");
    return p;
  }
  if (atoms.empty()) return {};
  if (atoms.size() == 1) return {{p.parts[0]}, false};
  AxisPosition split;
  Expr rest = p.parts[0];
  for (std::size_t i = atoms.size(); i-- > 1;) {
    const Expr extent = b_.extent(atoms[i]->extent);
    split.parts.insert(split.parts.begin(), b_.function(ir::OpKind::rem_, {rest, extent}, Element::i64));
    rest = b_.function(ir::OpKind::div_, {rest, extent}, Element::i64);
  }
  split.parts.insert(split.parts.begin(), rest);
  return split;
}

Expr GraphToExprs::linear(const Position& position, const TensorAtoms& atoms, const graph::TensorShape& shape) {
  Expr all = b_.zero();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    all = b_.add({b_.product({all, b_.extent(shape[axis])}), whole(position[axis], atoms[axis])});
  return all;
}

std::vector<AxisPosition> GraphToExprs::bindings(const AtomList& given, const AxisSet& outside) {
  std::vector<AxisPosition> bindings(1);
  const AtomList atoms = graph::flat(given);
  AxisSet used = outside;
  for (Atom* atom : atoms) {
    std::vector<AxisPosition> extended;
    if (atom->pieces.empty()) {
      const Axis axis = axis_of(atom, used);
      used.insert(axis);
      for (AxisPosition binding : bindings) {
        binding.parts.push_back(b_.index(axis));
        extended.push_back(std::move(binding));
      }
    } else {
      for (const Atom::Piece& piece : atom->pieces) {
        std::vector<Expr> inner;
        AxisSet inside = used;
        const AtomList own = graph::flat(piece.atoms);
        for (Atom* a : own) {
          const Axis axis = axis_of(a, inside);
          inside.insert(axis);
          inner.push_back(b_.index(axis));
        }
        for (AxisPosition binding : bindings) {
          binding.parts.push_back(b_.add({b_.extent(piece.begin), combine(inner, own)}));
          extended.push_back(std::move(binding));
        }
      }
    }
    bindings = std::move(extended);
  }
  return bindings;
}

// ---- values ----

BoundValue GraphToExprs::translate(NodeId n) {
  const TensorAtoms atoms = axes_.atoms(n);
  Position position;
  BoundValue result;
  AxisSet used;
  for (const AtomList& axis : atoms) {
    AxisPosition p;
    for (Atom* a : axis) {
      const Axis name = axis_of(a, used);
      used.insert(name);
      p.parts.push_back(b_.index(name));
    }
    position.push_back(p);
    result.index.push_back(whole(p, axis));
  }
  result.value = at(n, position);
  return result;
}

Expr GraphToExprs::value_at(NodeId n, const std::vector<Expr>& index) {
  const TensorAtoms atoms = axes_.atoms(n);
  Position position;
  for (std::size_t axis = 0; axis < index.size(); ++axis) position.push_back(parts({{index[axis]}, true}, atoms[axis]));
  return at(n, position);
}

Expr GraphToExprs::at(NodeId n, const Position& position) {
  const auto use = [&](std::size_t i) {
    if (!open_.empty()) open_.back().push_back(i);
    return values_[i].value;
  };
  for (const auto& [where, i] : memo_[n])
    if (where == position) return use(i);
  open_.emplace_back();
  const Expr value = rounded(g_.node(n), make(n, position));
  b_.pool().note_source(value, n);
  values_.push_back({n, value, has_all_elements(n, position), std::move(open_.back())});
  open_.pop_back();
  memo_[n].emplace_back(position, values_.size() - 1);
  return use(values_.size() - 1);
}

bool GraphToExprs::has_all_elements(NodeId n, const Position& position) const {
  const TensorAtoms atoms = axes_.atoms(n);
  for (std::size_t axis = 0; axis < position.size(); ++axis) {
    const std::vector<Expr>& parts = position[axis].parts;
    if (position[axis].is_whole || parts.size() != atoms[axis].size()) return false;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (!parts[i]->is(ExprKind::index) || parts[i]->axis->extent != atoms[axis][i]->extent) return false;
  }
  return true;
}

// The operand's value; a detached operand is read from memory by the position in it.
Expr GraphToExprs::operand(NodeId n, std::size_t i, const Position& position) {
  const NodeId x = g_.node(n).operands[i];
  if (!axes_.is_detached({n, i})) return at(x, position);
  const TensorAtoms seen = axes_.operand_atoms(n, i), own = axes_.atoms(x);
  Position there;
  for (std::size_t axis = 0; axis < position.size(); ++axis) there.push_back(parts({{whole(position[axis], seen[axis])}, true}, own[axis]));
  return at(x, there);
}

Expr GraphToExprs::make(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  if (axes_.is_stored(n)) return load(n, position);
  if (graph::is_empty(node.shape)) return constant(node.element, 0);
  if (graph::has_empty_operand(g_, node) && node.op != Op::pad && node.op != Op::concat)
    return constant(node.element, graph::bits_of_nothing(node));
  switch (node.op) {
#define TW_GRAPH_OP(name, family, operands, integers, ...) \
  case Op::name: return typed(node, graph::Integers::integers, translate_##name(n, position));
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  }
  TW_UNREACHABLE("a tensor op");
}

Expr GraphToExprs::translate_map(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  std::vector<Expr> operands;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const TensorAtoms atoms = axes_.operand_atoms(n, i);
    Position p(position.end() - static_cast<std::ptrdiff_t>(atoms.size()), position.end());
    for (std::size_t axis = 0; axis < p.size(); ++axis)
      if (atoms[axis].empty()) p[axis] = {};
    operands.push_back(operand(n, i, p));
  }
  return node.op == Op::broadcast ? operands[0] : map(n, operands);
}

Expr GraphToExprs::translate_broadcast(NodeId n, const Position& position) { return translate_map(n, position); }

Expr GraphToExprs::translate_permute(NodeId n, const Position& position) {
  Position p(position.size());
  for (std::size_t i = 0; i < position.size(); ++i) p[g_.node(n).axes[i]] = position[i];
  return operand(n, 0, p);
}

Tensor GraphToExprs::tensor(const Node& node, NodeId n) {
  TensorInfo info;
  const bool is_named = node.op == Op::input || node.op == Op::scalar;
  info.name = is_named ? node.text : "%" + std::to_string(n.index);
  info.element = node.element;
  info.shape = node.shape;
  info.strides = node.op == Op::input && !node.lengths.empty() ? node.lengths : row_major(node.shape);
  info.is_parameter = node.is_parameter;
  info.is_scalar = node.op == Op::scalar;
  info.may_contain_logarithms = !is_named && node.op != Op::constant;
  info.node = n;
  return b_.pool().add_tensor(std::move(info));
}

Expr GraphToExprs::constant(Element element, std::uint64_t bits) {
  if (element == Element::boolean) return b_.truth(bits != 0);
  if (element == Element::u64) return b_.number(Rational(ir::Int128{bits}, 1));
  if (!ir::is_float(element)) return b_.number(ir::integer_value(element, bits));
  const double value = ir::float_value(element, bits);
  // sum * (1.0f / n) is the mean, like sum / n: the constant's rounding moves to the result.
  if (options_.move_rounding && b_.rewrites())
    if (const auto fraction = element == Element::f64 ? ir::intended_fraction(value) : ir::intended_fraction(static_cast<float>(value)))
      return b_.number(*fraction);
  return b_.constant(value);
}

// ---- leaves ----

Expr GraphToExprs::load(NodeId n, const Position& position) {
  const TensorAtoms atoms = axes_.atoms(n);
  std::vector<Expr> index;
  for (std::size_t axis = 0; axis < position.size(); ++axis) index.push_back(whole(position[axis], atoms[axis]));
  return b_.load(tensor(g_.node(n), n), std::move(index));
}

Expr GraphToExprs::translate_input(NodeId n, const Position& position) { return load(n, position); }
Expr GraphToExprs::translate_scalar(NodeId n, const Position& position) { return load(n, position); }

Expr GraphToExprs::translate_constant(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  if (node.data->bits.size() != 1) return load(n, position);
  const std::uint64_t bits = node.data->bits[0];
  if (has_signed_zeros_[n.index] && ir::float_value(node.element, bits) == 0 && std::signbit(ir::float_value(node.element, bits)))
    return b_.negative_zero();
  return constant(node.element, bits);
}

Expr GraphToExprs::translate_iota(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const TensorAtoms atoms = axes_.atoms(n);
  return whole(position[node.axes[0]], atoms[node.axes[0]]);
}

Expr GraphToExprs::translate_extent(NodeId n, const Position&) { return b_.extent(g_.node(n).lengths[0]); }

Expr GraphToExprs::translate_rand(NodeId n, const Position& position) {
  return b_.random(g_.node(n).seed, linear(position, axes_.atoms(n), g_.node(n).shape));
}

Expr GraphToExprs::translate_argument(NodeId, const Position&) { TW_UNREACHABLE("an argument outside of its function"); }
Expr GraphToExprs::translate_scatter_add(NodeId, const Position&) { TW_UNREACHABLE("scatter_add has kernels of its own, which store it"); }
Expr GraphToExprs::translate_call(NodeId, const Position&) { TW_UNREACHABLE("a call has a kernel of its own, which stores its results"); }

// ---- reductions and products ----

Expr GraphToExprs::translate_reduce(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  if (node.kind == Combine::combine) return reduce_by_function(n, position);
  const TensorAtoms theirs = axes_.operand_atoms(n, 0);
  const auto is_reduced = [&](std::size_t axis) {
    return std::find(node.axes.begin(), node.axes.end(), static_cast<int>(axis)) != node.axes.end();
  };
  // The operand's positions: those of the result, with one alternative for each combination of pieces along the reduced axes.
  std::vector<Position> positions(1);
  auto kept = position.begin();
  for (std::size_t axis = 0; axis < theirs.size(); ++axis) {
    if (!is_reduced(axis)) {
      for (Position& operand_at : positions) operand_at.push_back(*kept);
      ++kept;
      continue;
    }
    if (node.keep_dims) ++kept;
    std::vector<Position> longer;
    for (const Position& operand_at : positions) {
      AxisSet used = axes_of(position);
      used.insert(axes_of(operand_at));
      for (AxisPosition& p : bindings(theirs[axis], used)) {
        longer.push_back(operand_at);
        longer.back().push_back(std::move(p));
      }
    }
    positions = std::move(longer);
  }
  const AxisSet outside = axes_of(position);
  const bool is_position = node.kind == Combine::argmax || node.kind == Combine::argmin;
  // Products of elements that are added up are rounded to f32: only the call of a product licenses tf32. Elements of 16 bits or fewer have no
  // more significant bits than tf32.
  const auto precision = ir::bits(node.element) < 32 ? graph::ProductPrecision::standard : graph::ProductPrecision::ieee;
  std::vector<Expr> results;
  std::vector<ReducedPiece> pieces;
  // Whether the formula itself gives the neutral element for no elements: the value is a float or a condition that varies along each axis.
  bool has_neutral = !ir::is_integer(node.element);
  for (const Position& operand_at : positions) {
    AxisSet bound;
    Expr linear_position = b_.zero();
    for (std::size_t axis = 0; axis < theirs.size(); ++axis)
      if (is_reduced(axis)) {
        bound.insert(axes_of(operand_at[axis]));
        linear_position = b_.add(
            {b_.product({linear_position, b_.extent(g_.node(node.operands[0]).shape[axis])}), whole(operand_at[axis], theirs[axis])});
      }
    bound = bound.without(outside);
    const Expr body = operand(n, 0, operand_at);
    has_neutral = has_neutral && body->axes.contains(bound);
    if (is_position)
      pieces.push_back({bound, body, linear_position});
    else
      results.push_back(reduced(node.kind, bound, body, {Element::f32, precision}, node.element));
  }
  Expr result = is_position ? position_of_extreme(node, pieces) : results[0];
  for (std::size_t i = 1; i < results.size(); ++i) result = combined(node.kind, result, results[i], node.element);
  return has_neutral || node.kind == Combine::sum || node.kind == Combine::prod
             ? result
             : b_.select(some_element(n), result, constant(node.element, graph::bits_of_nothing(node)), node.element);
}

Expr GraphToExprs::reduced(Combine combine, const AxisSet& bound, Expr body, const ProductElement& operand_element, Element element) {
  if (combine == Combine::sum && ir::is_float(element) && b_.rewrites())
    return guarded_sum(b_, bound, body, operand_element, computed(element));
  return b_.reduce(combine, bound, body, operand_element, computed(element));
}

// Whether the axes that a reduction binds have any positions.
Expr GraphToExprs::some_element(NodeId n) {
  const Node& node = g_.node(n);
  std::vector<Expr> conditions;
  for (int axis : node.axes) conditions.push_back(b_.is_positive(g_.node(node.operands[0]).shape[static_cast<std::size_t>(axis)]));
  return b_.conjunction(conditions);
}

// Combines the reductions of two pieces of an axis.
Expr GraphToExprs::combined(Combine combine, Expr a, Expr b, Element element) {
  switch (combine) {
    case Combine::all: return b_.conjunction({a, b});
    case Combine::any: return b_.negation(b_.conjunction({b_.negation(a), b_.negation(b)}));
    case Combine::sum: return arithmetic(ir::OpKind::add_, {a, b}, element);
    case Combine::prod: return arithmetic(ir::OpKind::mul_, {a, b}, element);
    case Combine::max: return arithmetic(ir::OpKind::maximum_, {a, b}, element);
    case Combine::min: return arithmetic(ir::OpKind::minimum_, {a, b}, element);
    default: break;
  }
  TW_CHECK(false, "fusion: a reduction over a concatenation must be stored");
  return a;
}

Expr GraphToExprs::translate_einsum(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const std::string_view equation = node.text;
  const std::size_t arrow = equation.find("->");
  std::map<char, AtomList> labels = axes_.labels(n);
  for (auto& [label, atoms] : labels) atoms = graph::flat(atoms);
  std::map<char, AxisPosition> result;
  for (std::size_t i = 0; i < position.size(); ++i) result[equation[arrow + 2 + i]] = position[i];
  const AxisSet outside = axes_of(position);

  // The positions of each label: those of the result, with one alternative for each combination of pieces along the contracted axes.
  std::vector<std::map<char, AxisPosition>> bindings_of_labels{result};
  for (const auto& [label, atoms] : labels) {
    if (result.count(label) != 0) continue;
    std::vector<std::map<char, AxisPosition>> longer;
    for (const auto& bound_labels : bindings_of_labels) {
      AxisSet used = outside;
      for (const auto& [other, p] : bound_labels) used.insert(axes_of(p));
      for (AxisPosition& p : bindings(atoms, used)) {
        longer.push_back(bound_labels);
        longer.back()[label] = std::move(p);
      }
    }
    bindings_of_labels = std::move(longer);
  }
  Element multiplied = Element::f32;
  for (NodeId x : node.operands) multiplied = g_.node(x).element;
  // The product of two of three operands is no operand of their type: it may overflow it, or have few of its digits.
  if (node.operands.size() > 2 && ir::is_float(multiplied) && ir::bits(multiplied) <= 16) multiplied = Element::f32;
  Expr sum;
  for (const auto& bound_labels : bindings_of_labels) {
    AxisSet bound;
    for (const auto& [label, p] : bound_labels)
      if (result.count(label) == 0) bound.insert(axes_of(p));
    std::vector<Factor> factors;
    std::size_t at_label = 0;
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      const TensorAtoms theirs = axes_.operand_atoms(n, i);
      Position p;
      for (const AtomList& axis : theirs) {
        const char label = equation[at_label++];
        p.push_back(axis.empty() ? AxisPosition{} : parts(bound_labels.at(label), labels.at(label)));
      }
      ++at_label;
      factors.push_back({operand(n, i, p), 1});
    }
    const Expr one = reduced(Combine::sum, bound, b_.multiply(1, factors), {multiplied, node.precision}, node.element);
    sum = sum ? combined(Combine::sum, sum, one, node.element) : one;
  }
  return sum;
}

// ---- indexed ----

Expr GraphToExprs::translate_gather(NodeId n, const Position& position) { return indexed(n, position); }
Expr GraphToExprs::translate_take_along(NodeId n, const Position& position) { return indexed(n, position); }

Expr GraphToExprs::indexed(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const int axis = node.axes[0];
  const TensorAtoms theirs = axes_.operand_atoms(n, 0), of_index = axes_.operand_atoms(n, 1);
  Position there, index;
  if (node.op == Op::gather) {
    const auto begin = position.begin() + axis, end = begin + static_cast<std::ptrdiff_t>(of_index.size());
    index.assign(begin, end);
    there.assign(position.begin(), begin);
    there.emplace_back();
    there.insert(there.end(), end, position.end());
  } else {
    there = position;
    for (std::size_t i = 0; i < of_index.size(); ++i) index.push_back(of_index[i].empty() ? AxisPosition{} : position[i]);
    for (std::size_t i = 0; i < theirs.size(); ++i)
      if (theirs[i].empty()) there[i] = {};
  }
  const Expr picked = operand(n, 1, index);
  AxisSet used = axes_of(position);
  AxisPosition along;
  for (Atom* a : theirs[axis]) {
    const Axis name = axis_of(a, used);
    used.insert(name);
    along.parts.push_back(b_.index(name));
  }
  there[axis] = along;
  return pick(operand(n, 0, there), along, theirs[axis], picked);
}

// The value at a position. If it is an element of memory, it is read there. If it contains a reduction, a sum with one term selects it, so
// that it can be part of a loop. Element-wise ops commute with selecting. A position that is data is a position of the axis; if the value
// reads memory that covers only a part of the axis, such as one tensor of a concatenation, that read may leave its tensor.
Expr GraphToExprs::pick(Expr value, const AxisPosition& along, const AtomList& atoms, Expr position) {
  const AxisSet bound = axes_of(along);
  ExprMap moved;
  const AxisPosition there = parts({{position}, true}, atoms);
  for (std::size_t i = 0; i < along.parts.size(); ++i) moved[along.parts[i]] = there.parts[i];
  const Expr here = b_.equal(whole(along, atoms), position);
  // Parts without the axis stay as they are: inside of a reduction over the axis, its name means another axis.
  ExprSet visited, unchanged;
  const auto enter = [&](Expr e) {
    if (!e->axes.intersects(bound)) {
      unchanged.insert(e);
      return false;
    }
    if (!visited.insert(e).second) return false;
    if (e->is(ExprKind::reduce))
      moved[e] = e->element == Element::boolean ? b_.reduce(Combine::any, bound, b_.conjunction({here, e}))
                                                : b_.reduce(Combine::sum, bound, b_.select(here, e, b_.zero(), e->element),
                                                            {e->element, graph::ProductPrecision::ieee});
    return !e->is(ExprKind::reduce);
  };
  walk(value, enter, [&](Expr e) {
    if (!e->is(ExprKind::load)) return;
    std::vector<Expr> index;
    bool may_leave = e->bits != 0;
    for (std::size_t i = 0; i < e->operands.size(); ++i) {
      index.push_back(b_.substitute(e->operands[i], moved, unchanged));
      may_leave = may_leave || (e->operands[i]->axes.intersects(bound) && !stays_inside(e->operands[i], e->tensor->shape[i]));
    }
    moved[e] = b_.load(e->tensor, std::move(index), may_leave);
    b_.pool().copy_sources(e, moved[e]);
  });
  return b_.substitute(value, moved, unchanged);
}

}  // namespace tilewright::passes::fusion
