// Numbers of formulas that are computed when a kernel is emitted.
#pragma once
#include <optional>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// With more digits and a wider range than any element type has, so that one rounding is the constant's.
using Wide = long double;

Wide wide(const Rational&);
/// The value of an expression of numbers alone: log(2), 3 * 2^(1/2). None for any other expression.
std::optional<Wide> constant_value(Expr);

}  // namespace tilewright::passes::fusion
