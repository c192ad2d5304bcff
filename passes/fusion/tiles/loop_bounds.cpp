// Finds the conditions that all accumulators have in common.
#include "passes/fusion/tiles/loop_bounds.h"

#include <algorithm>

#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

// The conditions that must hold for an accumulator to get a contribution from a position. 0 times a factor that may be infinite is one.
std::vector<Expr> needed_conditions(const ExprBuilder& b, const Accumulator& a, Axis loop) {
  if (a.combine == Combine::max && is_masked(a.body)) return conjuncts(a.body->operands[0]);
  if (a.combine != Combine::sum) return {};
  const std::vector<Factor> factors = b.factors(a.body);
  const auto may_be_infinite = [&](const Factor& f) { return f.base->axes.contains(loop) && finiteness(f) == Finite::unknown; };
  return std::any_of(factors.begin(), factors.end(), may_be_infinite) ? std::vector<Expr>() : conditions_of(factors);
}

}  // namespace

std::vector<LoopBound> loop_bounds(ExprBuilder& b, const LoopPlan& plan, const PassState& state) {
  std::vector<LoopBound> bounds;
  if (state.accumulators.empty()) return bounds;
  const auto conditions = [&](int i) { return needed_conditions(b, plan.accumulators[static_cast<std::size_t>(i)], plan.loop); };
  std::vector<Expr> common = conditions(state.accumulators[0]);
  for (int i : state.accumulators) {
    const std::vector<Expr> own = conditions(i);
    std::erase_if(common, [&](Expr c) { return std::find(own.begin(), own.end(), c) == own.end(); });
  }
  for (Expr c : common) {
    if (!c->is(ExprKind::at_least_zero)) continue;
    std::vector<Term> rest = b.terms(c->operands[0]);
    const auto own = std::find_if(rest.begin(), rest.end(), [&](const Term& t) { return t.value == b.index(plan.loop); });
    if (own == rest.end()) continue;
    const Rational direction = own->coefficient;
    rest.erase(own);
    if (direction == Rational(-1) || direction == Rational(1)) bounds.push_back({direction == Rational(-1), std::move(rest)});
  }
  return bounds;
}

}  // namespace tilewright::passes::fusion
