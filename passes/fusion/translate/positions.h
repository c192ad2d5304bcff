// Positions along the axes of a tensor, as formulas: in each atom of an axis (axes.h), or in the axis as a whole.
//
// Example: an axis of atoms [4, 3] has the whole position 3 i + j for the positions i and j in its atoms.
#pragma once
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/translate/axes.h"

namespace tilewright::passes::fusion {

/// A position along one axis of a tensor: in each of its atoms, outermost first, or in the axis as a whole.
struct AxisPosition {
  std::vector<Expr> parts;
  bool is_whole = false;  // parts has one expression, for an axis of several atoms
  friend bool operator==(const AxisPosition&, const AxisPosition&) = default;
};
using Position = std::vector<AxisPosition>;

AxisSet axes_of(const AxisPosition&);
AxisSet axes_of(const Position&);

/// The row-major position in several atoms, from the positions in each.
Expr row_major_position(ExprBuilder&, const std::vector<Expr>& parts, const AtomList&);
/// The position in an axis as a whole.
Expr whole_position(ExprBuilder&, const AxisPosition&, const AtomList&);
/// The position in each atom of an axis.
AxisPosition position_in_atoms(ExprBuilder&, const AxisPosition&, const AtomList&);
/// The row-major position in a whole tensor.
Expr row_major_position(ExprBuilder&, const Position&, const TensorAtoms&, const graph::TensorShape&);

}  // namespace tilewright::passes::fusion
