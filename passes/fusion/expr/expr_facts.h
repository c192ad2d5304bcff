// What is known of a new expression from its parts.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// Sets the axes on which an expression depends, its height, the kinds of its parts, and what is known of its value: sign, finiteness, and
/// whether it is made of numbers only.
void set_facts(ExprData&);

/// Whether a maximum or a minimum of this value counts as finite. One over masked elements does: the values from which it is subtracted have
/// the same mask. It does so, too, if the elements were stored before.
Finite finite_extreme(Expr body);

}  // namespace tilewright::passes::fusion
