// Operations of expressions in exponentials.
#include "passes/fusion/expr/exponentials.h"

#include "passes/fusion/transcendental.h"

namespace tilewright::passes::fusion {

double exponentials_of(Expr e) {
  const double of_type = e->element == ir::Element::f64 ? 2 : 1;  // a vector has half as many numbers of f64
  if (e->is(ExprKind::exp) || e->is(ExprKind::log)) return of_type;
  return e->is(ExprKind::function) ? of_type * exponentials_of(e->function) : 0;
}

}  // namespace tilewright::passes::fusion
