// Translates reductions and products: the axes that they bind get names, one alternative for each combination of pieces along them.
#include <algorithm>
#include <map>
#include <string_view>

#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using graph::Node;
using graph::NodeId;
using ir::Element;

}  // namespace

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
          binding.parts.push_back(b_.add({b_.extent(piece.begin), row_major_position(b_, inner, own)}));
          extended.push_back(std::move(binding));
        }
      }
    }
    bindings = std::move(extended);
  }
  return bindings;
}

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
        linear_position = b_.add({b_.product({linear_position, b_.extent(g_.node(node.operands[0]).shape[axis])}),
                                  whole_position(b_, operand_at[axis], theirs[axis])});
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
  // The product of two of three operands is not rounded to their type, which it may overflow, or of whose digits it may have few.
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
        p.push_back(axis.empty() ? AxisPosition{} : position_in_atoms(b_, bound_labels.at(label), labels.at(label)));
      }
      ++at_label;
      factors.push_back({operand(n, i, p), 1});
    }
    const Expr one = reduced(Combine::sum, bound, b_.multiply(1, factors), {multiplied, node.precision}, node.element);
    sum = sum ? combined(Combine::sum, sum, one, node.element) : one;
  }
  return sum;
}

}  // namespace tilewright::passes::fusion
