// Translates scans, and reductions by a user's functions, to expressions.
#include <algorithm>

#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

Expr GraphToExprs::translate_scan(graph::NodeId n, const Position& position) {
  const graph::Node& node = g_.node(n);
  const auto axis = static_cast<std::size_t>(node.axes[0]);
  const AtomList atoms = axes_.operand_atoms(n, 0)[axis];
  if (atoms.empty()) return operand(n, 0, position);  // the extent is 1
  AxisSet used;
  for (const AxisPosition& p : position)
    for (Expr e : p.parts) used.insert(e->axes);
  const Axis bound = axis_of_scan(n, atoms, used);
  Position there = position;
  there[axis] = position_in_atoms(b_, {{b_.index(bound)}, true}, atoms);
  const ir::Element e = node.element;
  return b_.scan(node.kind, bound, node.reverse, operand(n, 0, there), whole_position(b_, position[axis], axes_.atoms(n)[axis]),
                 ir::is_float(e) && e != ir::Element::f64 ? ir::Element::f32 : e);
}

// Reduces one axis inside of the other, the last axis first: the function need not be commutative.
Expr GraphToExprs::reduce_by_function(graph::NodeId n, const Position& position) {
  const graph::Node& node = g_.node(n);
  const TensorAtoms theirs = axes_.operand_atoms(n, 0);
  AxisSet used;
  for (const AxisPosition& p : position)
    for (Expr e : p.parts) used.insert(e->axes);
  Position there;
  std::vector<Axis> bound;
  auto kept = position.begin();
  for (std::size_t axis = 0; axis < theirs.size(); ++axis) {
    const bool is_reduced = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(axis)) != node.axes.end();
    if (!is_reduced) {
      there.push_back(*kept++);
      continue;
    }
    if (node.keep_dims) ++kept;
    AxisPosition p;
    for (Atom* a : theirs[axis]) {
      bound.push_back(axis_of(a, used));
      used.insert(bound.back());
      p.parts.push_back(b_.index(bound.back()));
    }
    there.push_back(std::move(p));
  }
  Expr value = operand(n, 0, there);
  if (ir::is_integer(node.element) && value->element != node.element) value = b_.function(ir::OpKind::cast_, {value}, node.element);
  for (std::size_t i = bound.size(); i-- > 0;) value = b_.reduce_by({&g_, node.combiner, *node.identity}, bound[i], value);
  return value;
}

}  // namespace tilewright::passes::fusion
