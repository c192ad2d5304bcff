// Which reductions are matrix products.
#pragma once
#include "passes/fusion/normal_form.h"

namespace tilewright::passes::fusion {

/// Whether factors that lack different axes of the result are multiplied along common ones.
bool is_product(const std::vector<Factor>& factors, const AxisSet& along);
/// Whether an expression is a sum of such products.
bool is_product(Expr, const ExprBuilder&);

}  // namespace tilewright::passes::fusion
