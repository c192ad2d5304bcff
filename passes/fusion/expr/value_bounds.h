// Bounds of float expressions that hold for all data, such as tanh, masks and sums of them.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

struct ValueBounds {
  double least, greatest;  // infinite if there is no bound
};

/// The bounds of the elements that no mask hides: -inf under a mask does not count.
ValueBounds value_bounds(Expr);

}  // namespace tilewright::passes::fusion
