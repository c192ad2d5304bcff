// Takes products apart, and replaces factors by loads of what other kernels store.
#pragma once
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"

namespace tilewright::passes::fusion {

/// The operands of a product. Axes that all factors have do not connect them: an operand that is stored has them too.
Operands operands_apart(const ExprBuilder&, Expr reduce);

/// A value without these factors and times others: (c x y) / x * t is c y t. The coefficient stays.
Expr replace_factors(ExprBuilder&, Expr value, const std::vector<Factor>& removed, const std::vector<Factor>& added);

/// A reduction of another value: all else stays.
Expr with_body(ExprBuilder&, Expr reduction, Expr body);

}  // namespace tilewright::passes::fusion
