// Derives what is known of a new expression from its parts.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// Sets the axes on which an expression depends, its height, the kinds of its parts, and what is known of its value: sign, finiteness, and
/// whether it is made of numbers only.
void set_facts(ExprData&);

/// Whether conditions hold together at some position along the axes, whatever the other positions are: at the first one (a causal mask), or where
/// it equals the position of another axis with the same extent (a window).
bool hold_somewhere(const std::vector<Expr>& conditions, const AxisSet& bound);

/// What is known of a maximum or a minimum of this value along the axes, also if the elements were stored before. One over masked elements is
/// infinite only where the mask hides all of them.
Finite finite_extreme(Expr body, const AxisSet& bound);

}  // namespace tilewright::passes::fusion
