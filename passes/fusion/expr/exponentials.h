// Counts how costly the operations of expressions are, and says which powers are costly.
#pragma once
#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// How many exponentials of f32 take as long as the operation of an expression on its parts; 0 if it takes no longer than a few additions.
/// A power counts if the user writes it as one: rsqrt(x) / x is computed as it is written.
double exponentials_of(ExprBuilder&, Expr);

/// Whether a factor with this exponent is a call of pow, and not made of multiplications, a division and a square root.
bool is_call_of_pow(const Rational& exponent);

}  // namespace tilewright::passes::fusion
