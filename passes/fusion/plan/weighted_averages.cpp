// Compares the factors and the data of sums with those of what they average.
#include "passes/fusion/plan/weighted_averages.h"

#include <algorithm>
#include <set>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

std::set<Tensor> data_of(Expr e) {
  const std::vector<Tensor> tensors = tensors_of(e);
  return {tensors.begin(), tensors.end()};
}

// A value divided by its first coefficient: equal for multiples of one value.
Expr without_coefficient(ExprBuilder& b, Expr e) {
  const Rational c = b.terms(e).front().coefficient;
  return c.is_zero() ? e : b.scale(Rational(1) / c, e);
}

}  // namespace

bool is_ratio_of_sums(ExprBuilder& b, Expr value, const std::vector<Expr>& sums) {
  ExprMap grown;
  for (Expr s : sums)
    if (contains(value, s)) grown[s] = b.scale(2, s);
  return !grown.empty() && b.substitute(value, grown) == value;
}

bool reads_all_data_of(Expr average, Expr data) {
  const std::set<Tensor> own = data_of(data), averaged = data_of(average);
  return std::includes(averaged.begin(), averaged.end(), own.begin(), own.end());
}

std::vector<Expr> weights_of_average(ExprBuilder& b, const std::vector<Expr>& sums, Expr averaged, Axis loop) {
  const std::set<Tensor> data = data_of(averaged);
  std::vector<Expr> weights;
  for (Expr s : sums) {
    if (without_coefficient(b, s->operands[0]) == without_coefficient(b, averaged)) continue;
    for (const Factor& f : b.factors(s->operands[0])) {
      const std::set<Tensor> own = data_of(f.base);
      const bool is_data =
          !own.empty() && std::includes(data.begin(), data.end(), own.begin(), own.end()) && !f.base->holds(ExprKind::indicator);
      if (f.base->axes.contains(loop) && !is_data) weights.push_back(f.base);
    }
  }
  return weights;
}

bool has_weight(const ExprBuilder& b, Expr product, Expr weight) {
  const std::vector<Factor> factors = b.factors(product);
  if (!weight->is(ExprKind::indicator))
    return std::any_of(factors.begin(), factors.end(), [&](const Factor& f) { return f.base == weight && !f.exponent.is_negative(); });
  const std::vector<Expr> known = conditions_of(factors), needed = conjuncts(weight->operands[0]);
  return std::all_of(needed.begin(), needed.end(), [&](Expr c) { return std::find(known.begin(), known.end(), c) != known.end(); });
}

}  // namespace tilewright::passes::fusion
