// Translates values at positions, leaves and indexed reads.
#include "passes/fusion/translate/graph_to_exprs.h"

#include <algorithm>
#include <cmath>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/stored_tensor.h"
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

// Whether a constant in memory has elements that are not finite: rules for finite data do not hold for it.
bool holds_infinity_or_nan(const Node& node) {
  const auto is_finite = [&](std::uint64_t bits) { return std::isfinite(ir::float_value(node.element, bits)); };
  return node.op == Op::constant && ir::is_float(node.element) && !std::ranges::all_of(node.data->bits, is_finite);
}

}  // namespace

GraphToExprs::GraphToExprs(const graph::Graph& g, const AxisAnalysis& axes, const std::vector<ZeroSign>& zero_signs, ExprBuilder& b,
                           Options options)
    : g_(g), axes_(axes), b_(b), options_(std::move(options)), zero_signs_(zero_signs) {
  b_.pool().set_graph(g);
  name_axes();
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
    result.index.push_back(whole_position(b_, p, axis));
  }
  result.value = at(n, position);
  return result;
}

Expr GraphToExprs::value_at(NodeId n, const std::vector<Expr>& index) {
  const TensorAtoms atoms = axes_.atoms(n);
  Position position;
  for (std::size_t axis = 0; axis < index.size(); ++axis) position.push_back(position_in_atoms(b_, {{index[axis]}, true}, atoms[axis]));
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
  for (std::size_t axis = 0; axis < position.size(); ++axis)
    there.push_back(position_in_atoms(b_, {{whole_position(b_, position[axis], seen[axis])}, true}, own[axis]));
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
  if (holds_infinity_or_nan(node)) info.finite = info.extremes = Finite::unknown;
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
  for (std::size_t axis = 0; axis < position.size(); ++axis) index.push_back(whole_position(b_, position[axis], atoms[axis]));
  return b_.load(tensor(g_.node(n), n), std::move(index));
}

Expr GraphToExprs::translate_input(NodeId n, const Position& position) { return load(n, position); }
Expr GraphToExprs::translate_scalar(NodeId n, const Position& position) { return load(n, position); }

Expr GraphToExprs::translate_constant(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  if (node.data->bits.size() != 1) return load(n, position);
  const std::uint64_t bits = node.data->bits[0];
  if (zero_signs_[n.index] != ZeroSign::ignored && ir::float_value(node.element, bits) == 0 &&
      std::signbit(ir::float_value(node.element, bits)))
    return b_.negative_zero();
  return constant(node.element, bits);
}

Expr GraphToExprs::translate_iota(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const TensorAtoms atoms = axes_.atoms(n);
  return whole_position(b_, position[node.axes[0]], atoms[node.axes[0]]);
}

Expr GraphToExprs::translate_extent(NodeId n, const Position&) { return b_.extent(g_.node(n).lengths[0]); }

Expr GraphToExprs::translate_rand(NodeId n, const Position& position) {
  return b_.random(g_.node(n).seed, row_major_position(b_, position, axes_.atoms(n), g_.node(n).shape));
}

Expr GraphToExprs::translate_argument(NodeId, const Position&) { TW_UNREACHABLE("an argument outside of its function"); }
Expr GraphToExprs::translate_scatter_add(NodeId, const Position&) { TW_UNREACHABLE("scatter_add has kernels of its own, which store it"); }
Expr GraphToExprs::translate_call(NodeId, const Position&) { TW_UNREACHABLE("a call has a kernel of its own, which stores its results"); }

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
  const AxisPosition there = position_in_atoms(b_, {{position}, true}, atoms);
  for (std::size_t i = 0; i < along.parts.size(); ++i) moved[along.parts[i]] = there.parts[i];
  const Expr here = b_.equal(whole_position(b_, along, atoms), position);
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
