// Bounds of float expressions that hold for all data: what tanh, masks and sums of them can be.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

struct ValueBounds {
  double least, greatest;  // infinite where there is none
};

/// A masked element (-inf) counts as neutral: it is left out.
ValueBounds value_bounds(Expr);

}  // namespace tilewright::passes::fusion
