// Walks from a value to what bounds it; each function visits a few levels only.
#include "passes/fusion/magnitude.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "passes/fusion/emit/constant_value.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

// The greatest exponent of 2 of a float of the type, or INT_MAX for those of f32's range and more.
int greatest_exponent(Element e) {
  switch (e) {
    case Element::f16:
    case Element::f8e5m2: return 15;
    case Element::f8e4m3: return 8;
    default: return 127;
  }
}

bool is_bounded_function(OpKind op) { return op == OpKind::tanh_ || op == OpKind::erf_ || op == OpKind::sin_ || op == OpKind::cos_; }

// The factors of the body of an exponential sum: one exponential, and masks.
struct MaskedExponential {
  Expr exponent;
  std::vector<Expr> conditions;
};
std::optional<MaskedExponential> masked_exponential(ExprBuilder& b, Expr e) {
  MaskedExponential found;
  const std::vector<Factor> factors = b.factors(e);
  found.conditions = conditions_of(factors);
  for (const Factor& f : factors) {
    if (f.base->is(ExprKind::indicator) && !f.exponent.is_negative()) continue;
    if (found.exponent || !f.base->is(ExprKind::exp) || !f.exponent.is_one()) return std::nullopt;
    found.exponent = f.base->operands[0];
  }
  if (!found.exponent) return std::nullopt;
  return found;
}

// Calls `visit` for each exponential of a sum of exponentials. False if it is none, or a call gives false.
bool each_exponential(ExprBuilder& b, Expr x, const std::function<bool(const MaskedExponential&)>& visit) {
  if (x->is(ExprKind::add))
    return std::all_of(x->terms.begin(), x->terms.end(), [&](const Term& t) {
      const bool is_positive = !t.coefficient.is_negative() && is_moderate(t.coefficient);
      return is_positive && (t.value == b.one() || each_exponential(b, t.value, visit));
    });
  if (x->is(ExprKind::reduce)) return x->combine == Combine::sum && each_exponential(b, x->operands[0], visit);
  const auto masked = masked_exponential(b, x);
  return masked && visit(*masked);
}

bool holds_all(std::span<const Expr> conditions, Expr needed) {
  const std::vector<Expr> all = conjuncts(needed);
  return std::all_of(all.begin(), all.end(),
                     [&](Expr c) { return std::find(conditions.begin(), conditions.end(), c) != conditions.end(); });
}

}  // namespace

std::vector<Expr> conditions_of(std::span<const Factor> factors) {
  std::vector<Expr> conditions;
  for (const Factor& f : factors)
    if (f.base->is(ExprKind::indicator) && !f.exponent.is_negative())
      for (Expr c : conjuncts(f.base->operands[0])) conditions.push_back(c);
  return conditions;
}

// ---- moderate values ----

namespace {

bool is_moderate(Wide number) {
  const Wide magnitude = std::fabs(number);
  return number == 0 || (magnitude >= std::ldexp(1.0, -kSpareBits) && magnitude <= std::ldexp(1.0, kSpareBits));
}

}  // namespace

bool is_moderate(const Rational& c) { return is_moderate(wide(c)); }

bool is_moderate(ExprBuilder& b, Expr e) {
  constexpr std::int64_t kMostPower = 2;
  if (const std::optional<Wide> number = constant_value(e)) return is_moderate(*number);
  switch (e->kind) {
    case ExprKind::extent:
    case ExprKind::indicator: return true;
    case ExprKind::mul:
      return is_moderate(e->number) && std::all_of(e->factors.begin(), e->factors.end(), [&](const Factor& f) {
               return f.exponent <= Rational(kMostPower) && -f.exponent <= Rational(kMostPower) && is_moderate(b, f.base);
             });
    case ExprKind::add:
    case ExprKind::reduce:
      return each_exponential(b, e, [&](const MaskedExponential& x) { return is_exp_at_most_one(b, x.exponent, x.conditions); });
    default: return false;
  }
}

bool is_sum_of_exponentials(ExprBuilder& b, Expr x) {
  return (x->is(ExprKind::add) || x->is(ExprKind::reduce)) && each_exponential(b, x, [](const MaskedExponential&) { return true; });
}

bool is_linear(ExprBuilder& b, Expr product) {
  std::vector<Rational> unknown;
  for (const Factor& f : b.factors(product))
    if (!is_moderate(b, f.base)) unknown.push_back(f.exponent);
  if (unknown.size() == 1) return unknown[0] <= Rational(1) && -unknown[0] <= Rational(1);
  return std::all_of(unknown.begin(), unknown.end(), [](const Rational& exponent) { return exponent.is_one(); });
}

// ---- maxima ----

bool is_extreme(ExprBuilder& b, Expr e) {
  const Expr value = b.split_coefficient(e).value;
  const auto is_chosen = [&](Expr x) { return constant_value(x) || x->is(ExprKind::infinity) || is_extreme(b, x); };
  switch (value->kind) {
    case ExprKind::reduce: return value->combine == Combine::max;
    case ExprKind::shift_reference: return is_extreme(b, value->operands[0]);
    case ExprKind::add: return std::all_of(value->terms.begin(), value->terms.end(), [&](const Term& t) { return is_chosen(t.value); });
    case ExprKind::mul:  // by a scale
      return std::any_of(value->factors.begin(), value->factors.end(),
                         [&](const Factor& f) { return f.exponent.is_one() && is_extreme(b, f.base); });
    case ExprKind::select:
      return is_chosen(value->operands[1]) && is_chosen(value->operands[2]) &&
             !(constant_value(value->operands[1]) && constant_value(value->operands[2]));
    case ExprKind::function:
      return (value->function == OpKind::maximum_ || value->function == OpKind::abs_) &&
             std::any_of(value->operands.begin(), value->operands.end(), [&](Expr x) { return is_extreme(b, x); });
    default: return false;
  }
}

std::optional<Multiple> multiple_of_chosen(ExprBuilder& b, Expr x, Expr maximum) {
  const auto [factor, value] = b.split_coefficient(maximum);
  if (factor.is_zero() || value == b.one()) return std::nullopt;
  std::vector<Expr> candidates;
  if (value->is(ExprKind::reduce) && value->combine == Combine::max) candidates = {value->operands[0]};
  if (value->is(ExprKind::function) && value->function == OpKind::maximum_) candidates = value->operands;
  for (Expr chosen : candidates) {
    while (chosen->is(ExprKind::select) && chosen->operands[2]->is_negative_infinity()) chosen = chosen->operands[1];
    const Expr scaled = b.scale(factor, chosen);
    if (scaled == x) return Multiple{factor, chosen};
    if (const auto inner = multiple_of_chosen(b, x, scaled)) return inner;
  }
  return std::nullopt;
}

// ---- exponentials ----

bool is_at_most(ExprBuilder& b, Expr x, Expr bound, std::span<const Expr> conditions) {
  if (x == bound) return true;
  // A masked value is at most what it hides.
  if (x->is(ExprKind::select) && x->operands[2]->is_negative_infinity()) {
    std::vector<Expr> inside(conditions.begin(), conditions.end());
    for (Expr c : conjuncts(x->operands[0])) inside.push_back(c);
    return is_at_most(b, x->operands[1], bound, inside);
  }
  if (bound->is(ExprKind::select) && bound->operands[2]->is_negative_infinity())
    return holds_all(conditions, bound->operands[0]) && is_at_most(b, x, bound->operands[1], conditions);
  if (bound->is(ExprKind::reduce) && bound->combine == Combine::max) return is_at_most(b, x, bound->operands[0], conditions);
  if (bound->is(ExprKind::function) && bound->function == OpKind::maximum_)
    return std::any_of(bound->operands.begin(), bound->operands.end(), [&](Expr o) { return is_at_most(b, x, o, conditions); });
  const auto [c, value] = b.split_coefficient(bound);
  if (value == bound || value == b.one() || c.is_zero()) return false;
  if (!c.is_negative()) return is_at_most(b, b.scale(Rational(1) / c, x), value, conditions);
  // A minimum is -max(-u, -w). Of a limit beyond any score, as that to which logsumexp clamps a maximum, only infinity is not below.
  constexpr double kLimit = 60000;
  if (!value->is(ExprKind::function) || value->function != OpKind::maximum_) return false;
  return std::all_of(value->operands.begin(), value->operands.end(), [&](Expr o) {
    const Expr limit = b.scale(c, o);
    const std::optional<Wide> constant = constant_value(limit);
    return constant ? *constant >= kLimit : is_at_most(b, x, limit, conditions);
  });
}

bool is_exp_at_most_one(ExprBuilder& b, Expr u, std::span<const Expr> conditions) {
  ExprMap values;
  for (const Term& t : b.terms(u))
    if (t.value->is(ExprKind::reference)) values[t.value] = t.value->operands[0];
  if (!values.empty()) u = b.substitute(u, values);
  const std::vector<Term> all = b.terms(u);
  for (const Term& t : all) {
    if (t.value == b.one() || t.coefficient.is_zero()) continue;
    std::vector<Expr> others;
    for (const Term& o : all)
      if (o.value != t.value && !o.coefficient.is_zero()) others.push_back(b.scale(o.coefficient, o.value));
    if (is_at_most(b, b.add(others), b.scale(-t.coefficient, t.value), conditions)) return true;
  }
  return false;
}

// ---- operands of products ----

bool is_narrow(Element e) { return ir::is_float(e) && greatest_exponent(e) < greatest_exponent(Element::f32); }

bool fits_operand(ExprBuilder& b, Expr e, Element type) {
  const auto all_fit = [&](std::span<const Expr> values) {
    return std::all_of(values.begin(), values.end(), [&](Expr x) { return fits_operand(b, x, type); });
  };
  switch (e->kind) {
    case ExprKind::number: return std::fabs(wide(e->number)) < std::ldexp(1.0, greatest_exponent(type) - 1);
    case ExprKind::indicator:
    case ExprKind::random:
    case ExprKind::shift_reference:  // an average of data that fits
      return true;
    case ExprKind::load:
      return ir::is_float(e->tensor->element) ? greatest_exponent(e->tensor->element) <= greatest_exponent(type)
                                              : ir::bits(e->tensor->element) <= greatest_exponent(type);
    case ExprKind::exp: return is_exp_at_most_one(b, e->operands[0]);
    case ExprKind::add:
      return std::all_of(e->terms.begin(), e->terms.end(),
                         [&](const Term& t) { return is_moderate(t.coefficient) && fits_operand(b, t.value, type); });
    case ExprKind::mul: {
      const std::vector<Expr> conditions = conditions_of(e->factors);
      return is_moderate(e->number) && std::all_of(e->factors.begin(), e->factors.end(), [&](const Factor& f) {
               if (f.exponent.is_negative()) return false;
               if (f.base->is(ExprKind::exp)) return is_exp_at_most_one(b, f.base->operands[0], conditions);
               return fits_operand(b, f.base, type);
             });
    }
    case ExprKind::select: return fits_operand(b, e->operands[1], type) && fits_operand(b, e->operands[2], type);
    case ExprKind::function:
      if (e->function == OpKind::cast_ || e->function == OpKind::bitcast_)
        return ir::is_float(e->element) && greatest_exponent(e->element) <= greatest_exponent(type) && e->element != Element::f32;
      if (is_bounded_function(e->function)) return true;
      return (e->function == OpKind::abs_ || e->function == OpKind::maximum_) && all_fit(e->operands);
    case ExprKind::reduce: return e->combine == Combine::max && fits_operand(b, e->operands[0], type);
    default: return false;
  }
}

bool factors_fit_operand(ExprBuilder& b, Expr product, Element type) { return fits_operand(b, b.multiply(1, b.factors(product)), type); }

}  // namespace tilewright::passes::fusion
