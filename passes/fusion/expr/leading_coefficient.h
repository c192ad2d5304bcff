// The coefficient that a product or a sum takes out of a sum of values.
#pragma once

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The coefficient c that is taken out of a sum inside of a product or of another sum: sum = c * (sum / c). Multiples of one sum then share
/// the object sum / c.
///   * In general, c is the coefficient of the first term that is not a constant: 0.3 x + 0.5 y = 0.3 (x + 5/3 y).
///   * If all coefficients are small integers times powers of two, they must remain so after the division, since sums of small integers are
///     exact. Then c is the power of two in that first coefficient, times the greatest odd number that divides all coefficients: 1 for
///     3 x + y, 6 for 6 x + 9 y.
///   * 1 if all terms are constants.
Rational leading_coefficient(const ExprBuilder&, Expr sum);
/// As leading_coefficient, for a factor of a product; 1 if the coefficient is not moderate: each step of x = c x (1 - x) would square it.
Rational coefficient_of_factor(const ExprBuilder&, Expr sum);

}  // namespace tilewright::passes::fusion
