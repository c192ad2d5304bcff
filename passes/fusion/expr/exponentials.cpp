// Operations of expressions in exponentials.
#include "passes/fusion/expr/exponentials.h"

#include <algorithm>

#include "passes/fusion/thresholds.h"
#include "passes/fusion/transcendental.h"

namespace tilewright::passes::fusion {

bool is_call_of_pow(const Rational& exponent) {
  const Rational positive = exponent.is_negative() ? -exponent : exponent;
  if (positive.is_integer()) return positive > Rational(kMostMultiplications);
  return positive != Rational(1, 2);
}

double exponentials_of(ExprBuilder& b, Expr e) {
  const double of_type = e->element == ir::Element::f64 ? kExponentialsOfDouble : 1;
  if (e->is(ExprKind::exp) || e->is(ExprKind::log)) return of_type;
  if (e->is(ExprKind::function)) return of_type * exponentials_of(e->function);
  if (!e->is(ExprKind::mul) || !ir::is_float(e->element)) return 0;
  const auto is_written_power = [&](const Factor& f) {
    if (!is_call_of_pow(f.exponent)) return false;
    const WrittenValue* written = b.pool().written_value(b.multiply(1, {f}));
    return written && written->kind == WrittenValue::Kind::power;
  };
  const auto powers = std::count_if(e->factors.begin(), e->factors.end(), is_written_power);
  return of_type * static_cast<double>(powers) * exponentials_of(ir::OpKind::pow_);
}

}  // namespace tilewright::passes::fusion
