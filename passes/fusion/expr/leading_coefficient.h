// The number that a product or a sum takes out of a sum of values.
#pragma once

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The coefficient by which a sum is divided where it stands in a product or under a sum: that of the first term that is no constant, so
/// that multiples of one sum are one object. If all coefficients are small integers times powers of two, as those of 3 x + y, they remain
/// such numbers, and sums of small integers exact: then it is the power of two in that coefficient, times the odd numbers that divide
/// all of them. 1 if all terms are constants.
Rational leading_coefficient(const ExprBuilder&, Expr sum);

}  // namespace tilewright::passes::fusion
