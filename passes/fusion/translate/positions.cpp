// Joins positions in atoms by their extents, and divides positions in axes by them.
#include "passes/fusion/translate/positions.h"

#include "tileir/diagnostics.h"

namespace tilewright::passes::fusion {

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

Expr row_major_position(ExprBuilder& b, const std::vector<Expr>& parts, const AtomList& atoms) {
  Expr position = b.zero();
  for (std::size_t i = 0; i < parts.size(); ++i) position = b.add({b.product({position, b.extent(atoms[i]->extent)}), parts[i]});
  return position;
}

Expr whole_position(ExprBuilder& b, const AxisPosition& p, const AtomList& atoms) {
  if (p.is_whole) return p.parts[0];
  if (p.parts.empty()) return b.zero();
  return row_major_position(b, p.parts, atoms);
}

AxisPosition position_in_atoms(ExprBuilder& b, const AxisPosition& p, const AtomList& atoms) {
  if (!p.is_whole) {
    TW_CHECK(p.parts.size() == atoms.size(), "fusion: a position has other atoms than its axis");
    return p;
  }
  if (atoms.empty()) return {};
  if (atoms.size() == 1) return {{p.parts[0]}, false};
  AxisPosition split;
  Expr rest = p.parts[0];
  for (std::size_t i = atoms.size(); i-- > 1;) {
    const Expr extent = b.extent(atoms[i]->extent);
    split.parts.insert(split.parts.begin(), b.function(ir::OpKind::rem_, {rest, extent}, ir::Element::i64));
    rest = b.function(ir::OpKind::div_, {rest, extent}, ir::Element::i64);
  }
  split.parts.insert(split.parts.begin(), rest);
  return split;
}

Expr row_major_position(ExprBuilder& b, const Position& position, const TensorAtoms& atoms, const graph::TensorShape& shape) {
  Expr all = b.zero();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    all = b.add({b.product({all, b.extent(shape[axis])}), whole_position(b, position[axis], atoms[axis])});
  return all;
}

}  // namespace tilewright::passes::fusion
