// The values that an average or an extreme combines. If a formula subtracts one of them, a reference near these values cancels well.
#pragma once
#include <optional>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// The values that an average or an extreme combines, with its coefficient: {3, x} for 3 mean(x), also with masks or weights; {-1, x} for
/// -max(x). A sum whose terms are all averages or extremes of the same values has one, too. None for any other expression.
std::optional<Term> averaged_values(ExprBuilder&, Expr);

}  // namespace tilewright::passes::fusion
