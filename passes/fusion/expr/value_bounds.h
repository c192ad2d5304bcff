// Bounds of float expressions that hold for all data, such as tanh, masks and sums of them.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

struct ValueBounds {
  double least, greatest;  // infinite if there is no bound
};

/// A masked element (-inf) counts as neutral and is ignored.
ValueBounds value_bounds(Expr);

}  // namespace tilewright::passes::fusion
