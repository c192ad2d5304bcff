// What is known about the magnitude of values for all data: it determines which rewritings keep the range of a formula.
//
// In exact arithmetic, the sum of x / a is 1 / a times the sum of x, and exp(u + c log x) is x^c exp(u). In floats, one may be finite and
// the other not. A rewriting is used only if its values stay within the range of the formula's values, except for 2^kSpareBits:
//
//   a factor leaves a sum, or is applied after a loop, if it is moderate, or if the rest is linear in the data
//   exp(x - p) may refer to a value of p so far if p is a maximum of x
//   the operands of a product of narrow floats remain values that such floats can hold
#pragma once
#include <optional>
#include <span>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

inline Rational magnitude(const Rational& c) { return c.is_negative() ? -c : c; }
/// Whether a number is between 2^-kSpareBits and 2^kSpareBits: a product with a few of such numbers is in range if its other factors are.
bool is_moderate(const Rational&);
/// Whether the number is 2^k, so that a product with it is exact.
bool is_power_of_two(const Rational&);
/// Whether every value is moderate: this holds for numbers, extents, masks, and the sum of a softmax's exponentials.
bool is_moderate(ExprBuilder&, Expr);

/// Whether a value is the greatest of the elements along axes, or of two values.
bool is_maximum(Expr);
/// Whether a value equals one of several values, or a multiple of one, and so has no rounding error of its own: a maximum.
bool is_extreme(ExprBuilder&, Expr);

/// factor * value.
struct Multiple {
  Rational factor;
  Expr value;
};
/// The values from which a maximum (or a multiple of it) is chosen, also through masks and through maxima of maxima.
std::vector<Multiple> values_of_maximum(ExprBuilder&, Expr maximum);

/// Whether x <= bound where the conditions hold: the bound is a maximum of x, or greater than such a maximum.
bool is_at_most(ExprBuilder&, Expr x, Expr bound, std::span<const Expr> conditions = {});
/// Whether exp(u) <= 1 where the conditions hold, since u is x minus a maximum of x. References count as what they represent.
bool is_exp_at_most_one(ExprBuilder&, Expr u, std::span<const Expr> conditions = {});
/// Whether x is a sum of exponentials only.
bool is_sum_of_exponentials(ExprBuilder&, Expr x);

/// Whether a product has each factor of unknown magnitude only once: then it is as large as its greatest operand times moderate values, if
/// the other operands are moderate. x^2 / a^2 is not linear, x w is.
bool is_linear(ExprBuilder&, Expr product);

/// Whether products multiply operands of this type in a narrower range than that of f32.
bool is_narrow(ir::Element);
/// Whether floats of this type can hold a value if the formula's inputs are moderate: data of the type or a narrower one, masks,
/// exponentials of at most 1, and products and sums of these.
bool fits_operand(ExprBuilder&, Expr, ir::Element);
/// As above for each factor of a product; the factors belong to different operands.
bool factors_fit_operand(ExprBuilder&, Expr product, ir::Element);

/// The conditions of the masks among these factors.
std::vector<Expr> conditions_of(std::span<const Factor>);

}  // namespace tilewright::passes::fusion
