// Interval arithmetic for float expressions.
#include "passes/fusion/expr/value_bounds.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tilewright::passes::fusion {

namespace {

using ir::OpKind;

ValueBounds scaled(const ValueBounds& b, double c) {
  if (c == 0) return {0, 0};
  return {std::min(c * b.least, c * b.greatest), std::max(c * b.least, c * b.greatest)};
}

// The bounds of an expression and its parts; each part is computed once, however often it is used.
class BoundFinder {
 public:
  ValueBounds of(Expr e) {
    if (const auto known = known_.find(e.operator->()); known != known_.end()) return known->second;
    const ValueBounds bounds = compute(e);
    known_.emplace(e.operator->(), bounds);
    return bounds;
  }

 private:
  ValueBounds compute(Expr);

  std::unordered_map<const ExprData*, ValueBounds> known_;
};

ValueBounds BoundFinder::compute(Expr e) {
  const ValueBounds none{-HUGE_VAL, HUGE_VAL};
  switch (e->kind) {
    case ExprKind::number: return {e->number.to_double(), e->number.to_double()};
    case ExprKind::indicator:
    case ExprKind::random: return {0, 1};
    case ExprKind::add: {
      ValueBounds sum{0, 0};
      for (const Term& t : e->terms) {
        const ValueBounds b = scaled(of(t.value), t.coefficient.to_double());
        sum = {sum.least + b.least, sum.greatest + b.greatest};
      }
      return sum;
    }
    case ExprKind::mul:
      if (e->factors.size() == 1 && e->factors[0].exponent.is_one()) return scaled(of(e->factors[0].base), e->number.to_double());
      if (std::all_of(e->factors.begin(), e->factors.end(),
                      [](const Factor& f) { return f.base->is(ExprKind::indicator) && f.exponent.is_one(); }))
        return scaled({0, 1}, e->number.to_double());
      break;
    case ExprKind::function:
      if (e->function == OpKind::tanh_ || e->function == OpKind::erf_ || e->function == OpKind::sin_ || e->function == OpKind::cos_)
        return {-1, 1};
      break;
    case ExprKind::select: {
      const ValueBounds a = of(e->operands[1]);
      if (e->operands[2]->is_negative_infinity()) return a;
      const ValueBounds b = of(e->operands[2]);
      return {std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
    }
    default: break;
  }
  if (e->is_nonnegative) return {0, HUGE_VAL};
  return none;
}

}  // namespace

ValueBounds value_bounds(Expr e) { return BoundFinder().of(e); }

}  // namespace tilewright::passes::fusion
