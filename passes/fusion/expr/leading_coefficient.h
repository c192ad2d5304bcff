// The coefficient that a product or a sum takes out of a sum of values.
#pragma once

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The coefficient by which a sum is divided inside of a product or of another sum: that of the first term that is not a constant, so that
/// multiples of one sum are one object. If all coefficients are small integers times powers of two, as in 3 x + y, they must stay such
/// numbers, since sums of small integers are exact: then it is the power of two in that coefficient, times the odd numbers that divide all
/// coefficients. 1 if all terms are constants.
Rational leading_coefficient(const ExprBuilder&, Expr sum);
/// As leading_coefficient, for a factor of a product; 1 if the coefficient is not moderate: each step of x = c x (1 - x) would square it.
Rational coefficient_of_factor(const ExprBuilder&, Expr sum);

}  // namespace tilewright::passes::fusion
