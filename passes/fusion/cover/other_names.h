// Finds a value that is stored along other axes.
//
// An axis that a formula walks twice has two names: n of the rows of x W, and n' of the same rows as keys of attention. A value that is stored
// along n is read along n', and need not be stored again.
#pragma once
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// Two names of an axis: `own`, which a value has, and `other`, which it lacks.
struct SwappedAxes {
  Axis own, other;
};
/// The other names of all axes of a value. None for a value with scans.
std::vector<SwappedAxes> swappable_axes(const ExprPool&, Expr value);
/// The value with each of the two axes in place of the other one, also where reductions bind them. It has no scans.
Expr with_swapped(ExprBuilder&, Expr value, const SwappedAxes&);

}  // namespace tilewright::passes::fusion
