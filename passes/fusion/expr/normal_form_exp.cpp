// Makes exponentials and logarithms in normal form.
#include <algorithm>
#include <cmath>

#include "passes/fusion/expr/hidden_maxima.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

using ir::Element;

// log x, also with guards: g log x is not finite where one of them is not.
struct ExprBuilder::GuardedLog {
  Expr inner;
  std::vector<Factor> guards;
};

std::optional<ExprBuilder::GuardedLog> ExprBuilder::guarded_log(Expr e) const {
  if (e->is(ExprKind::log)) return GuardedLog{e->operands[0], {}};
  if (!e->is(ExprKind::mul) || !e->number.is_one()) return std::nullopt;
  GuardedLog found;
  for (const Factor& f : e->factors) {
    if (is_guard(f.base))
      found.guards.push_back(f);
    else if (!found.inner && f.base->is(ExprKind::log) && f.exponent.is_one())
      found.inner = f.base->operands[0];
    else
      return std::nullopt;
  }
  return found.inner ? std::optional(found) : std::nullopt;
}

// Whether exp(.. + c log x) is in the range of x^c and of the exponential of the other terms, because x is the sum of a softmax, or of the
// exponentials of these terms. In a density, x^199 may be 0 although its product with another power is not. A sum in which nothing counts
// is 0, and so is its product with an exponential of at most 1, but 0 times an exponential that overflows is not. If the exponent subtracts
// a maximum of values that contain logarithms, or a maximum that another kernel stores, it takes exactly these values: other values may be
// far above a maximum that was rounded with a logarithm.
bool ExprBuilder::may_be_power(const Rational& c, Expr x, const std::vector<Term>& all) {
  if (c.is_zero() || !x->is_nonnegative) return false;
  if (all.size() == 1) return true;
  if (x->is(ExprKind::number)) return std::fabs(c.to_double() * std::log2(x->number.to_double())) <= kSpareBits;
  if (c > Rational(1) || -c > Rational(1) || !is_sum_of_exponentials(*this, x)) return false;
  const auto has_log = [&](const Term& t) {
    return guarded_log(t.value) || (t.value->is(ExprKind::load) && t.value->tensor->may_contain_logarithms);
  };
  const auto is_rounded_with_log = [&](const Term& t) {
    if (!is_maximum(t.value)) return t.value->is(ExprKind::load) && has_log(t);
    const std::vector<Multiple> values = values_of_maximum(*this, t.value);
    return std::ranges::any_of(values, [&](const Multiple& v) { return std::ranges::any_of(terms(v.value), has_log); });
  };
  std::vector<Term> others;
  for (const Term& t : all) {
    const std::vector<Term> referred = t.value->is_reference() ? terms(t.value->operands[0]) : std::vector<Term>{t};
    if (std::ranges::any_of(referred, is_rounded_with_log)) return false;
    if (!guarded_log(t.value)) others.push_back(t);
  }
  const Expr exponent = add_terms(others);
  if (!c.is_negative() && !x->is_positive && !is_exp_at_most_one(*this, exponent)) return false;
  if (is_moderate(*this, x)) return true;
  const Expr exponential = exp(exponent);
  if (!x->is(ExprKind::reduce)) return false;
  const std::vector<Factor> summed = factors(x->operands[0]);
  return std::any_of(summed.begin(), summed.end(), [&](const Factor& f) { return f.base == exponential; });
}

Expr ExprBuilder::exp(Expr u) {
  if (u == zero_) return one_;
  if (u->is_negative_infinity()) return zero_;
  if (is_masked(u)) return select(u->operands[0], exp(u->operands[1]), zero_, u->element);
  // exp(u + c log x) = x^c exp(u), if x is known to be >= 0. exp(u + (m ? v : -inf)) = [m] exp(u + v), or m ? exp(u + v) : 0 for a v that
  // may be infinite. exp(v) alone may overflow where exp(u + v) does not.
  std::vector<Term> rest, hidden;
  std::vector<Factor> powers;
  std::vector<Expr> conditions, masks;
  const std::vector<Term> all = terms(u);
  for (const Term& t : all) {
    if (const auto log = guarded_log(t.value); log && may_be_power(t.coefficient, log->inner, all)) {
      powers.push_back({log->inner, t.coefficient});
      powers.insert(powers.end(), log->guards.begin(), log->guards.end());
    } else if (is_masked(t.value) && t.coefficient.is_one()) {
      const Expr condition = t.value->operands[0];
      (t.value->operands[1]->finite != Finite::unknown ? masks : conditions).push_back(condition);
      for (const Term& under : terms(t.value->operands[1])) hidden.push_back(under);
    } else {
      rest.push_back(t);
    }
  }
  const bool is_hidden = !masks.empty() || !conditions.empty();
  if (powers.empty() && !is_hidden) return make(ExprKind::exp, {u}, is_integer(u) ? Element::f32 : common_element(std::span(&u, 1)));
  const Expr visible = add_terms(rest);
  rest.insert(rest.end(), hidden.begin(), hidden.end());
  const Expr exponential = exp(add_terms(rest));
  const Expr condition = conjunction({conjunction(masks), conjunction(conditions)});
  // Where the mask does not hold, exp(u - inf) is 0, or NaN if u is +inf.
  const std::optional<std::vector<Factor>> guards = is_hidden ? guards_of_visible(visible, conjuncts(condition)) : std::vector<Factor>();
  if (!guards) {
    const Expr other = multiply(0, {{guard_of_infinity(*this, visible), 1}});
    powers.push_back({select(condition, exponential, other, u->element), 1});
    return multiply(1, powers);
  }
  powers.insert(powers.end(), guards->begin(), guards->end());
  for (const Factor& m : masks_of(conjunction(masks), exponential, u->element == Element::f64 ? Element::f64 : Element::f32))
    powers.push_back(m);
  powers.push_back({conditions.empty() ? exponential : select(conjunction(conditions), exponential, zero_, u->element), 1});
  return multiply(1, powers);
}

// The guards of an exponential whose mask has left it: of the maxima that the terms outside of the mask subtract. None if such a term may be
// +inf for another reason.
std::optional<std::vector<Factor>> ExprBuilder::guards_of_visible(Expr visible, const std::vector<Expr>& conditions) {
  std::vector<Factor> guards;
  for (const Term& t : terms(visible)) {
    if (t.value->finite >= Finite::for_finite_data) continue;
    const std::optional<Expr> maximum = hidden_maximum(*this, t.value);
    if (!maximum || (t.coefficient.is_negative() && !is_chosen_under(*maximum, conditions))) return std::nullopt;
    if (t.coefficient.is_negative()) guards.push_back({guard_of_maximum(*this, *maximum), 1});
  }
  return guards;
}

Expr ExprBuilder::log(Expr u) {
  if (u == one_) return zero_;
  if (u == zero_) return negative_infinity_;
  if (u->is(ExprKind::exp)) return u->operands[0];
  if (u->is(ExprKind::indicator)) return select(u->operands[0], zero_, negative_infinity_, u->element);
  if (u->is(ExprKind::mul) && !u->number.is_negative() && !u->number.is_zero()) return log_of_product(u);
  return make(ExprKind::log, {u}, is_integer(u) ? Element::f32 : common_element(std::span(&u, 1)));
}

// log(g x) = g log x for a guard g. Guards of maxima are left out that are -inf only where data are: log 0 is not finite either.
std::optional<Expr> ExprBuilder::log_with_guards(Expr u) {
  std::vector<Factor> guards, rest;
  for (const Factor& f : u->factors) (is_guard(f.base) ? guards : rest).push_back(f);
  if (guards.empty() || rest.empty()) return std::nullopt;
  std::erase_if(guards, [&](const Factor& f) {
    const std::optional<Expr> maximum = guarded_maximum(*this, f.base);
    return maximum && (*maximum)->finite >= Finite::for_finite_data && vanishes(*this, rest, *maximum);
  });
  std::vector<Term> all = terms(log(multiply(u->number, rest)));
  if (guards.empty()) return add_terms(all);
  if (all.empty()) return multiply(0, guards);
  const auto is_log = [](const Term& t) { return t.value->is(ExprKind::log); };
  const auto at = std::find_if(all.begin(), all.end(), is_log);
  Term& guarded = at == all.end() ? all.front() : *at;
  guards.push_back({guarded.value, 1});
  guarded.value = multiply(1, guards);
  return add_terms(all);
}

// log(c exp(a) l) = log c + a + log l for sums of exponentials l. The logarithms of other factors may be great and cancel, as those of the quotient
// of two numbers near 1e15: such factors stay together, with the number in front of them, and so does any factor beside one that may be
// negative or 0: log(0 x) is -inf for a negative x, while log 0 + log x is NaN. log([m] x) = m ? log x : -inf.
Expr ExprBuilder::log_of_product(Expr u) {
  if (const std::optional<Expr> guarded = log_with_guards(u)) return *guarded;
  std::vector<Expr> sum, hidden, conditions;  // hidden: under the conditions
  std::vector<Factor> rest;
  const auto is_hidden = [&](const Factor& f) {
    return finiteness(f) != Finite::unknown &&
           std::ranges::all_of(u->factors, [&](const Factor& mask) { return !is_mask(mask) || hides(mask, f); });
  };
  const auto add_log = [&](const Factor& f) {
    const Expr x = log(f.exponent.is_even() && !f.base->is_nonnegative ? absolute(f.base) : f.base);
    (is_hidden(f) ? hidden : sum).push_back(scale(f.exponent, x));
  };
  const bool stays_together = !std::all_of(u->factors.begin(), u->factors.end(), [](const Factor& f) { return is_nonnegative(f); });
  for (const Factor& f : u->factors) {
    if (is_mask(f))
      conditions.push_back(f.base->operands[0]);
    else if ((f.base->is(ExprKind::exp) || is_sum_of_exponentials(*this, f.base)) &&
             (stays_together ? fusion::is_positive(f) : is_nonnegative(f)))
      add_log(f);
    else
      rest.push_back(f);
  }
  Rational number_of_rest = u->number;
  if (rest.size() == 1 && is_nonnegative(rest[0]) && number_of_rest.is_one()) {
    add_log(rest[0]);
    rest.clear();
  }
  if (rest.empty() && !number_of_rest.is_one()) {
    hidden.push_back(make(ExprKind::log, {number(number_of_rest)}, Element::f32));
    number_of_rest = 1;
  }
  if (!conditions.empty() && !std::all_of(rest.begin(), rest.end(), is_hidden)) {
    // 0 times a value that may be infinite is NaN, and so is its logarithm.
    rest.push_back({make(ExprKind::indicator, {conjunction(conditions)}, Element::f32), 1});
    conditions.clear();
  }
  const bool is_split = !sum.empty() || !hidden.empty() || !conditions.empty();
  if (!is_split) return make(ExprKind::log, {u}, common_element(std::span(&u, 1)));
  if (!rest.empty()) hidden.push_back(log(multiply(number_of_rest, rest)));
  Expr inside = add(hidden);
  if (!conditions.empty()) inside = select(conjunction(conditions), inside, negative_infinity_);
  sum.push_back(inside);
  return add(sum);
}

}  // namespace tilewright::passes::fusion
