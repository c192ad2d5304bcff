// Numbers in formulas that are computed when a kernel is emitted.
#pragma once
#include <optional>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// Has more digits and a wider range than every element type, so that the constant is rounded only once.
using Wide = long double;

Wide wide(const Rational&);
/// Whether an expression is one number, which may be infinite or NaN.
inline bool is_any_number(Expr e) { return e->is(ExprKind::number) || e->is(ExprKind::constant) || e->is(ExprKind::infinity); }
/// The nearest double. Requires: is_any_number.
double nearest_double(Expr);
/// The value of an expression that contains only numbers: log(2), 3 * 2^(1/2). None for any other expression.
std::optional<Wide> constant_value(Expr);

}  // namespace tilewright::passes::fusion
