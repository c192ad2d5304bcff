// Finds the sum, the weights and the count of an average, and the values that it combines.
#include "passes/fusion/expr/averaged.h"

#include <algorithm>
#include <vector>

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;

bool is_reduction(Expr e, Combine combine) { return e->is(ExprKind::reduce) && e->combine == combine; }

// The factors of an average: a sum divided by a sum of weights, by extents, or by both.
struct Average {
  Expr sum, weights;
  std::vector<Factor> extents;
};
std::optional<Average> average_of(ExprBuilder& b, Expr value) {
  Average found;
  for (const Factor& f : b.factors(value)) {
    const bool is_sum = is_reduction(f.base, Combine::sum);
    if (is_sum && f.exponent.is_one() && !found.sum)
      found.sum = f.base;
    else if (is_sum && (-f.exponent).is_one() && !found.weights)
      found.weights = f.base;
    else if (f.base->is(ExprKind::extent) || (is_guard(f.base) && f.base->operands[0]->is(ExprKind::extent)))
      found.extents.push_back(f);
    else
      return std::nullopt;
  }
  return found.sum ? std::optional(found) : std::nullopt;
}

// The number that a product of extents and their inverses is where none of them is 0: where one is, the average is that of nothing.
std::optional<Rational> count_of(ExprBuilder& b, std::vector<Factor> extents) {
  const Term count = b.split_coefficient(b.multiply(1, extents));
  const std::vector<Factor> left = b.factors(count.value);
  const auto is_one = [](const Factor& f) {
    return f.base->is_number(1) || (is_guard(f.base) && f.base->operands[0]->is(ExprKind::extent));
  };
  return std::all_of(left.begin(), left.end(), is_one) ? std::optional(count.coefficient) : std::nullopt;
}

std::optional<Term> values_of_average(ExprBuilder& b, Expr value) {
  std::optional<Average> average = average_of(b, value);
  if (!average) return std::nullopt;
  AxisSet counted = average->sum->bound;
  const Term body = b.split_coefficient(average->sum->operands[0]);
  std::vector<Factor> values = b.factors(body.value);
  if (average->weights) {
    counted = counted.without(average->weights->bound);
    for (const Factor& w : b.factors(average->weights->operands[0])) {
      const auto at = std::find(values.begin(), values.end(), w);
      if (at == values.end()) return std::nullopt;
      values.erase(at);
    }
  }
  for (Axis a : counted) average->extents.push_back({b.extent(a->extent, value->element), 1});
  const std::optional<Rational> count = count_of(b, std::move(average->extents));
  if (!count) return std::nullopt;
  return Term{*count * body.coefficient, b.multiply(1, values)};
}

std::optional<Term> values_of(ExprBuilder& b, Expr value) {
  if (!is_reduction(value, Combine::max)) return values_of_average(b, value);
  Expr chosen = value->operands[0];
  while (is_masked(chosen)) chosen = chosen->operands[1];
  return b.split_coefficient(chosen);
}

}  // namespace

std::optional<Term> averaged_values(ExprBuilder& b, Expr e) try {
  std::optional<Term> all;
  for (const Term& t : b.terms(e)) {
    const std::optional<Term> values = values_of(b, t.value);
    if (!values || (all && values->value != all->value)) return std::nullopt;
    all = Term{(all ? all->coefficient : Rational(0)) + t.coefficient * values->coefficient, values->value};
  }
  return all;
} catch (const ir::RationalOverflow&) {
  return std::nullopt;
}

}  // namespace tilewright::passes::fusion
