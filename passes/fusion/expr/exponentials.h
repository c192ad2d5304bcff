// How costly the operations of expressions are.
#pragma once
#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// How many exponentials of f32 take as long as the operation of an expression on its parts; 0 if it takes no longer than a few additions.
double exponentials_of(Expr);

}  // namespace tilewright::passes::fusion
