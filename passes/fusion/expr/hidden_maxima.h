// Maxima that may be -inf, because masks hide all values from which they are chosen, or because these values are -inf.
//
// exp(x - p) subtracts a maximum p of x. Where p is -inf, exp(-inf - p) is NaN, and so is the sum of such exponentials. Two rewritings lose
// this NaN: a mask leaves the exponent, exp((m ? x : -inf) - p) = [m] exp(x - p); or a loop takes 0 as the reference for p as long as p is
// -inf. So both multiply the value by a guard of p: 1, or NaN where p is -inf. Most values need no guard. A softmax exp(x - p) / l, for
// example, is NaN without one, because its sum l is 0.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The maxima p with a negative coefficient in an exponent, as in exp(x - p), which may be -inf.
std::vector<Expr> subtracted_maxima(ExprBuilder&, Expr exponent);
/// The maximum that may be -inf in a term p, or p times positive factors, of an exponent; none if there is no such maximum.
std::optional<Expr> hidden_maximum(const ExprBuilder&, Expr term);
/// Whether a maximum is -inf only where these conditions do not hold: they include a mask of the values from which it is chosen.
bool is_chosen_under(Expr maximum, std::span<const Expr> conditions);

/// 1, or NaN where the value is +inf: x / x for x = max(value, 1).
Expr guard_of_infinity(ExprBuilder&, Expr value);
/// 1, or NaN where the maximum is -inf.
Expr guard_of_maximum(ExprBuilder&, Expr maximum);
/// The maximum that a guard guards; none for any other guard.
std::optional<Expr> guarded_maximum(ExprBuilder&, Expr guard);
/// Whether a product of these factors is 0 or not finite where the maximum is -inf, as the sum of a softmax.
bool vanishes(ExprBuilder&, std::span<const Factor>, Expr maximum);
/// Whether a product with these factors is not finite where the maximum is -inf, so that it needs no guard.
bool implies_guard(ExprBuilder&, std::span<const Factor>, Expr maximum);

/// A product without the guards of maxima that are -inf only where the condition does not hold.
Expr without_guards_under(ExprBuilder&, Expr product, Expr condition);

/// The sum of a body along the axes, with guards of the maxima that exponentials in the body subtract. If a mask around the exponential
/// varies along the axes, the guard is a factor of the body, and then no loop computes the maximum and the sum at once; otherwise the guard
/// is a factor of the sum. Under a mask, a maximum that is -inf only if data are needs no guard.
Expr guarded_sum(ExprBuilder&, const AxisSet& bound, Expr body, const ProductElement&, ir::Element);

}  // namespace tilewright::passes::fusion
