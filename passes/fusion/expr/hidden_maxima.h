// Maxima that may be -inf, since masks hide, or are, all values that they are chosen from.
//
// exp(x - p) subtracts a maximum p of x. Where p is -inf, exp(-inf - p) is NaN, and so is the sum of such exponentials. Two rewritings lose that:
// a mask that leaves the exponent, exp((m ? x : -inf) - p) = [m] exp(x - p), and a loop whose reference for p is 0 as long as p is -inf. So both
// keep a guard of p beside the value: 1, or NaN where p is -inf. Most values need none, as a softmax: exp(x - p) / l is NaN without it, since its
// sum l is 0.
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

/// The sum of a body along the axes, with guards of the maxima that exponentials in the body subtract. A guard stands where the exponential
/// does: one under a mask that varies along the axes is a factor of the body, with which no loop computes maximum and sum at once. Under a mask,
/// none guards a maximum that is -inf only if data are.
Expr guarded_sum(ExprBuilder&, const AxisSet& bound, Expr body, const ProductElement&, ir::Element);

}  // namespace tilewright::passes::fusion
