// Evaluates expressions that contain only numbers.
#include "passes/fusion/expr/constant_value.h"

#include <bit>
#include <cmath>

namespace tilewright::passes::fusion {

namespace {

Wide evaluate(Expr e) {
  switch (e->kind) {
    case ExprKind::number: return wide(e->number);
    case ExprKind::exp: return std::exp(evaluate(e->operands[0]));
    case ExprKind::log: return std::log(evaluate(e->operands[0]));
    case ExprKind::add: {
      Wide sum = 0;
      for (const Term& t : e->terms) sum += wide(t.coefficient) * evaluate(t.value);
      return sum;
    }
    case ExprKind::mul: {
      Wide product = wide(e->number);
      for (const Factor& f : e->factors) product *= std::pow(evaluate(f.base), wide(f.exponent));
      return product;
    }
    default: return std::bit_cast<double>(e->bits);  // a constant
  }
}

}  // namespace

Wide wide(const Rational& r) { return static_cast<Wide>(r.numerator()) / static_cast<Wide>(r.denominator()); }

double nearest_double(Expr e) {
  if (e->is(ExprKind::number)) return e->number.to_double();
  return e->is(ExprKind::infinity) ? std::copysign(HUGE_VAL, e->number.to_double()) : std::bit_cast<double>(e->bits);
}

std::optional<Wide> constant_value(Expr e) { return e->is_numeric ? std::optional(evaluate(e)) : std::nullopt; }

}  // namespace tilewright::passes::fusion
