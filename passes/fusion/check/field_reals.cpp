// The real numbers that values have besides residues; they order the operands of maxima and minima.
#include <algorithm>
#include <cmath>

#include "passes/fusion/check/field_eval.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::OpKind;

// x^(n / d); for a negative x, the power of its magnitude, with a minus sign if the power is odd.
double real_power(double x, const Rational& exponent) {
  const double magnitude = std::pow(std::fabs(x), exponent.to_double());
  return x < 0 && exponent.is_integer() && !exponent.is_even() ? -magnitude : magnitude;
}

// Any base obeys the law of exp; a small base keeps numbers in range.
double real_exp(double x) { return std::exp2(x / 4096); }

// The point extended by positions along further axes.
Point extended(Point p, const Point& more) {
  for (const auto& [axis, position] : more) p[axis] = position;
  return p;
}

bool is_extreme(Expr e) { return (e->combine == Combine::max || e->combine == Combine::min) && ir::is_float(e->element); }

}  // namespace

std::uint64_t FieldEvaluator::extreme(Combine combine, const AxisSet& bound, Expr x, const Point& p, const Modulus& m) {
  // A maximum of maxima is a single maximum, unless the inner ones have values of their own.
  if (x->is(ExprKind::reduce) && is_extreme(x) && x->combine == combine && !x->bound.intersects(bound) &&
      !override_(x, extended(p, points(bound, loop_).front()), m)) {
    AxisSet all = bound;
    all.insert(x->bound);
    return extreme(combine, all, x->operands[0], p, m);
  }
  std::vector<std::uint64_t> residues;
  std::vector<Reals> order;
  for (const Point& inner : points(bound, loop_)) {
    const Point all = extended(p, inner);
    residues.push_back(value(x, all, m));
    order.push_back(reals(x, all));
  }
  std::uint64_t result = 0, last_weight = 1;
  for (std::size_t draw = 0; draw < kDrawsOfReals; ++draw) {
    std::size_t chosen = 0;
    for (std::size_t i = 1; i < order.size(); ++i)
      if (combine == Combine::max ? order[i][draw] > order[chosen][draw] : order[i][draw] < order[chosen][draw]) chosen = i;
    const std::uint64_t weight = draw + 1 == kDrawsOfReals ? last_weight : mix(mix(seed_, draw), m.prime()) % m.prime();
    last_weight = m.subtract(last_weight, weight);
    result = m.add(result, m.multiply(weight, residues[chosen]));
  }
  return result;
}

FieldEvaluator::Reals FieldEvaluator::reals(Expr e, const Point& p) {
  return known_or(known_reals_, e, p, [&] { return override_(e, p, Modulus::values()) ? drawn(e, p) : compute_reals(e, p); });
}

// Functions that have a law in the field have it here; all others are drawn at random.
FieldEvaluator::Reals FieldEvaluator::compute_reals(Expr e, const Point& p) {
  Reals result{};
  const auto each = [&](auto&& change) { std::for_each(result.begin(), result.end(), change); };
  const auto with = [&](const Reals& x, auto&& change) {
    for (std::size_t i = 0; i < kDrawsOfReals; ++i) change(result[i], x[i]);
  };
  switch (e->kind) {
    case ExprKind::number: result.fill(e->number.to_double()); return result;
    case ExprKind::infinity: result.fill(e->number.is_negative() ? -HUGE_VAL : HUGE_VAL); return result;
    case ExprKind::index: result.fill(static_cast<double>(p.at(e->axis))); return result;
    case ExprKind::extent: result.fill(static_cast<double>(extent(e->extent))); return result;
    case ExprKind::add:
      for (const Term& t : e->terms) with(reals(t.value, p), [&](double& sum, double x) { sum += t.coefficient.to_double() * x; });
      return result;
    case ExprKind::mul:
      result.fill(e->number.to_double());
      for (const Factor& f : e->factors) with(reals(f.base, p), [&](double& product, double x) { product *= real_power(x, f.exponent); });
      return result;
    case ExprKind::exp:
      result = reals(e->operands[0], p);
      each([](double& x) { x = real_exp(x); });
      return result;
    case ExprKind::indicator: result.fill(holds(e->operands[0], p) ? 1 : 0); return result;
    case ExprKind::select: return reals(holds(e->operands[0], p) ? e->operands[1] : e->operands[2], p);
    case ExprKind::function:
      if (is_guard(e)) {
        result.fill(1);
        return result;
      }
      if (const bool is_magnitude = e->function == OpKind::abs_ && ir::is_float(e->element); is_magnitude || is_odd(e)) {
        result = reals(e->operands[0], p);
        each([&](double& x) { x = is_magnitude ? std::fabs(x) : std::tanh(x); });
        return result;
      }
      break;
    case ExprKind::reduce: {
      if (e->combine != Combine::sum && !is_extreme(e)) break;
      bool is_first = true;
      for (const Point& inner : points(e->bound, loop_)) {
        double weight = 1;  // the positions of an axis represent its extent; those of the loop's axis only themselves
        for (const auto& [axis, position] : inner)
          if (axis != loop_) weight *= static_cast<double>(extent(axis->extent)) / checked_extent(axis, loop_);
        with(reals(e->operands[0], extended(p, inner)), [&](double& all, double x) {
          if (e->combine == Combine::sum)
            all += weight * x;
          else if (is_first || (e->combine == Combine::max ? x > all : x < all))
            all = x;
        });
        is_first = false;
      }
      return result;
    }
    default: break;
  }
  return drawn(e, p);
}

// Equal residues get equal real numbers.
FieldEvaluator::Reals FieldEvaluator::drawn(Expr e, const Point& p) {
  const std::uint64_t h = value(e, p, Modulus::values());
  Reals result{};
  for (std::size_t draw = 0; draw < kDrawsOfReals; ++draw) {
    const std::uint64_t bits = mix(mix(seed_, h), draw);
    constexpr double kScale = 0x1p-54;
    const double magnitude = 0.25 + static_cast<double>(bits >> 10) * kScale;
    result[draw] = !e->is_nonnegative && bits % 2 == 1 ? -magnitude : magnitude;
  }
  return result;
}

}  // namespace tilewright::passes::fusion
