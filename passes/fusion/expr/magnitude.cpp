// Decides what is known about magnitudes, by walks from a value to the values that bound it. Each walk visits a value only once, however
// many formulas contain it.
#include "passes/fusion/expr/magnitude.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "passes/fusion/expr/constant_value.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/graph_walk.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::Element;
using ir::OpKind;

// The greatest exponent of 2 in a float type; that of f32 for types with at least the range of f32.
int greatest_exponent(Element e) {
  switch (e) {
    case Element::f16:
    case Element::f8e5m2: return 15;
    case Element::f8e4m3: return 8;
    default: return 127;
  }
}

bool is_bounded_function(OpKind op) { return op == OpKind::tanh_ || op == OpKind::erf_ || op == OpKind::sin_ || op == OpKind::cos_; }

// The factors in the body of a sum of exponentials: one exponential, and masks.
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

// Calls `visit` for each exponential in a sum of exponentials. Returns false if the value is not such a sum, or if a call returns false.
bool each_exponential(ExprBuilder& b, Expr root, const std::function<bool(const MaskedExponential&)>& visit) {
  return all_hold(root, [&](Expr x, std::vector<Expr>& parts) {
    if (x->is(ExprKind::add)) {
      for (const Term& t : x->terms) {
        if (t.coefficient.is_negative() || !is_moderate(t.coefficient)) return false;
        if (t.value != b.one()) parts.push_back(t.value);
      }
      return true;
    }
    if (x->is(ExprKind::reduce)) {
      parts.push_back(x->operands[0]);
      return x->combine == Combine::sum;
    }
    const auto masked = masked_exponential(b, x);
    return masked && visit(*masked);
  });
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

bool is_power_of_two(const Rational& c) {
  int exponent = 0;
  return std::frexp(c.to_double(), &exponent) == 0.5;
}

bool is_moderate(ExprBuilder& b, Expr e) {
  if (const std::optional<Wide> number = constant_value(e)) return is_moderate(*number);
  switch (e->kind) {
    case ExprKind::extent:
    case ExprKind::indicator: return true;
    case ExprKind::function: return is_guard_of_infinity(e);
    case ExprKind::mul:
      return is_moderate(e->number) && std::all_of(e->factors.begin(), e->factors.end(), [&](const Factor& f) {
               return f.exponent <= Rational(kMostPowerOfModerate) && -f.exponent <= Rational(kMostPowerOfModerate) &&
                      is_moderate(b, f.base);
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

bool is_maximum(Expr e) {
  return (e->is(ExprKind::reduce) && e->combine == Combine::max) || (e->is(ExprKind::function) && e->function == OpKind::maximum_);
}

namespace {

bool chooses(OpKind op) { return op == OpKind::maximum_ || op == OpKind::minimum_ || op == OpKind::abs_; }

// The values, without coefficients, that determine whether a value is an extreme.
std::vector<Expr> parts_of_extreme(ExprBuilder& b, Expr value) {
  std::vector<Expr> parts;
  const auto add = [&](Expr x) { parts.push_back(b.split_coefficient(x).value); };
  switch (value->kind) {
    case ExprKind::add:
      for (const Term& t : value->terms) add(t.value);
      break;
    case ExprKind::mul:
      for (const Factor& f : value->factors)
        if (f.exponent.is_one()) add(f.base);
      break;
    case ExprKind::select:
      add(value->operands[1]);
      add(value->operands[2]);
      break;
    case ExprKind::shift_reference: add(value->operands[0]); break;
    case ExprKind::function:
      if (chooses(value->function))
        for (Expr x : value->operands) add(x);
      break;
    default: break;
  }
  return parts;
}

}  // namespace

bool is_extreme(ExprBuilder& b, Expr e) {
  std::unordered_map<Expr, bool, ExprHash> known;
  const auto decide = [&](Expr value) {
    const std::vector<Expr> parts = parts_of_extreme(b, value);
    const auto is_known = [&](Expr x) { return known.at(x); };
    const auto is_constant = [&](Expr x) { return constant_value(x).has_value(); };
    const auto is_chosen = [&](Expr x) { return is_constant(x) || x->is(ExprKind::infinity) || known.at(x); };
    if (value->is(ExprKind::reduce)) return value->combine == Combine::max || value->combine == Combine::min;
    if (value->is(ExprKind::add)) return std::all_of(parts.begin(), parts.end(), is_chosen);
    if (value->is(ExprKind::select))
      return std::all_of(parts.begin(), parts.end(), is_chosen) && !std::all_of(parts.begin(), parts.end(), is_constant);
    return std::any_of(parts.begin(), parts.end(), is_known);  // a product with a scale
  };
  const Expr root = b.split_coefficient(e).value;
  visit_operands_first(
      root, [&](Expr value) { return parts_of_extreme(b, value); }, [&](Expr value) { return known.emplace(value, false).second; },
      [&](Expr value) { known[value] = decide(value); });
  return known.at(root);
}

std::vector<Multiple> values_of_maximum(ExprBuilder& b, Expr maximum) {
  ExprSet seen;
  std::vector<Multiple> values;
  walk_along(maximum, [&](Expr e, std::vector<Expr>& next) {
    const auto [factor, value] = b.split_coefficient(e);
    if (factor.is_zero() || !is_maximum(value)) return;
    for (Expr chosen : value->operands) {
      while (is_masked(chosen)) chosen = chosen->operands[1];
      const Expr scaled = b.scale(factor, chosen);
      if (!seen.insert(scaled).second) continue;
      values.push_back({factor, chosen});
      next.push_back(scaled);
    }
  });
  return values;
}

// ---- exponentials ----

namespace {

// The question whether x <= bound.
struct Comparison {
  Expr x, bound;
  friend bool operator<(const Comparison& a, const Comparison& b) {
    return std::pair(a.x->key, a.bound->key) < std::pair(b.x->key, b.bound->key);
  }
};
// The grounds of a comparison: an answer, or a list of comparisons one of which, or all of which, must hold.
struct Grounds {
  std::optional<bool> answer;
  bool needs_all = false;
  std::vector<Comparison> others = {};
};

Grounds grounds_of(ExprBuilder& b, const Comparison& asked, std::span<const Expr> conditions) {
  const auto [x, bound] = asked;
  if (x == bound) return {true};
  if (is_masked(bound)) {
    if (!holds_all(conditions, bound->operands[0])) return {false};
    return {.answer = {}, .others = {{x, bound->operands[1]}}};
  }
  Grounds grounds;
  if (is_maximum(bound)) {
    for (Expr o : bound->operands) grounds.others.push_back({x, o});
    return grounds;
  }
  const auto [c, value] = b.split_coefficient(bound);
  if (value == bound || value == b.one() || c.is_zero()) return {false};
  if (!c.is_negative()) return {.answer = {}, .others = {{b.scale(Rational(1) / c, x), value}}};
  // The bound is a minimum, -max(-u, -w): x must be at most both values. A constant from kLeastUnreachedScore on counts as greater than
  // every finite x: logsumexp, for example, clamps a maximum to such a constant.
  if (!value->is(ExprKind::function) || value->function != OpKind::maximum_) return {false};
  grounds.needs_all = true;
  for (Expr o : value->operands) {
    const Expr limit = b.scale(c, o);
    const std::optional<Wide> constant = constant_value(limit);
    if (!constant)
      grounds.others.push_back({x, limit});
    else if (!(*constant >= kLeastUnreachedScore))
      return {false};
  }
  return grounds;
}

}  // namespace

bool is_at_most(ExprBuilder& b, Expr x, Expr bound, std::span<const Expr> given) {
  if (x == bound) return true;
  // A masked value is at most the value that the mask hides.
  std::vector<Expr> conditions(given.begin(), given.end());
  for (; is_masked(x); x = x->operands[1])
    for (Expr c : conjuncts(x->operands[0])) conditions.push_back(c);
  std::map<Comparison, bool> known;
  const Comparison root{x, bound};
  visit_operands_first(
      root, [&](const Comparison& c) { return grounds_of(b, c, conditions).others; },
      [&](const Comparison& c) { return known.emplace(c, false).second; },
      [&](const Comparison& c) {
        const Grounds grounds = grounds_of(b, c, conditions);
        const auto holds = [&](const Comparison& o) { return known.at(o); };
        const std::vector<Comparison>& others = grounds.others;
        known[c] = grounds.answer.value_or(grounds.needs_all ? std::all_of(others.begin(), others.end(), holds)
                                                             : std::any_of(others.begin(), others.end(), holds));
      });
  return known.at(root);
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

namespace {

// Whether a value fits if its parts do. Adds these parts to `parts`.
bool fits_with_parts(ExprBuilder& b, Expr e, Element type, std::vector<Expr>& parts) {
  switch (e->kind) {
    case ExprKind::number: return std::fabs(wide(e->number)) < std::ldexp(1.0, greatest_exponent(type) - 1);
    case ExprKind::indicator:
    case ExprKind::random:
    case ExprKind::shift_reference:  // an average of data that fit
      return true;
    case ExprKind::load:
      return ir::is_float(e->tensor->element) ? greatest_exponent(e->tensor->element) <= greatest_exponent(type)
                                              : ir::bits(e->tensor->element) <= greatest_exponent(type);
    case ExprKind::exp: return is_exp_at_most_one(b, e->operands[0]);
    case ExprKind::add:
      for (const Term& t : e->terms) parts.push_back(t.value);
      return std::all_of(e->terms.begin(), e->terms.end(), [&](const Term& t) { return fusion::is_moderate(t.coefficient); });
    case ExprKind::mul: {
      const std::vector<Expr> conditions = conditions_of(e->factors);
      return fusion::is_moderate(e->number) && std::all_of(e->factors.begin(), e->factors.end(), [&](const Factor& f) {
               if (f.exponent.is_negative()) return false;
               if (f.base->is(ExprKind::exp)) return is_exp_at_most_one(b, f.base->operands[0], conditions);
               parts.push_back(f.base);
               return true;
             });
    }
    case ExprKind::select: parts.insert(parts.end(), e->operands.begin() + 1, e->operands.end()); return true;
    case ExprKind::function:
      if (e->function == OpKind::cast_ || e->function == OpKind::bitcast_)
        return ir::is_float(e->element) && greatest_exponent(e->element) <= greatest_exponent(type) && e->element != Element::f32;
      if (is_bounded_function(e->function)) return true;
      parts.insert(parts.end(), e->operands.begin(), e->operands.end());
      return e->function == OpKind::abs_ || e->function == OpKind::maximum_;
    case ExprKind::reduce: parts.push_back(e->operands[0]); return e->combine == Combine::max;
    default: return false;
  }
}

}  // namespace

bool fits_operand(ExprBuilder& b, Expr e, Element type) {
  return all_hold(e, [&](Expr x, std::vector<Expr>& parts) { return fits_with_parts(b, x, type, parts); });
}

bool factors_fit_operand(ExprBuilder& b, Expr product, Element type) { return fits_operand(b, b.multiply(1, b.factors(product)), type); }

}  // namespace tilewright::passes::fusion
