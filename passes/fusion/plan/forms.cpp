// The rules of forms, one for each kind of expression.
#include "passes/fusion/plan/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "passes/fusion/expr/averaged.h"
#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/magnitude.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/expr/value_bounds.h"
#include "passes/fusion/plan/weighted_averages.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Combine;
using ir::OpKind;

}  // namespace

Forms::Forms(ExprBuilder& b, Axis loop, std::vector<Expr> pending, bool shift)
    : b_(b), loop_(loop), pending_(std::move(pending)), shift_(shift) {}

bool Forms::has_pending(Expr e) {
  const auto decide = [&](Expr x) -> std::optional<bool> {
    if (x->is_reference()) return false;
    if (x->is(ExprKind::delta) || is_pending(x)) return true;
    return std::nullopt;
  };
  return known_fact(e, has_pending_, decide, [&](Expr x) {
    return std::any_of(children(x).begin(), children(x).end(), [&](Expr part) { return has_pending_.at(part); });
  });
}

bool Forms::is_pending(Expr e) const { return std::find(pending_.begin(), pending_.end(), e) != pending_.end(); }

Expr Forms::first_pending(Expr e) {
  while (!is_pending(e)) {
    const auto inside = std::find_if(children(e).begin(), children(e).end(), [&](Expr x) { return has_pending(x); });
    if (inside == children(e).end()) break;
    e = *inside;
  }
  return e;
}

Forms& Forms::without_shift() {
  if (!shift_) return *this;
  if (!without_shift_) without_shift_ = std::make_unique<Forms>(b_, loop_, pending_, false);
  return *without_shift_;
}

void Forms::refuse(std::string reason, Expr node) { throw NoForm{std::move(reason), node, first_pending(node)}; }

const Form& Forms::form(Expr e) {
  if (const auto known = forms_.find(e); known != forms_.end()) return known->second;
  Form terms = merge(make(e), e);
  return forms_.emplace(e, std::move(terms)).first->second;
}

Form Forms::reduction(Expr r, bool is_exponent) {
  const AxisSet others = r->bound.without({loop_});
  const Expr inner = others.empty() ? r->operands[0] : b_.reduce(r->combine, others, r->operands[0], r->operand_element, r->element);
  if (!b_.rewrites() && has_pending(inner)) refuse("a formula that is to be computed as it is written", inner);
  if (r->combine == Combine::sum) {
    Form terms = form(inner);
    check_operand(r, terms);
    if (terms.empty()) terms.push_back({b_.zero(), b_.zero(), b_.one()});  // all terms cancel
    return terms;
  }
  if (!has_pending(inner)) return {{b_.one(), b_.zero(), inner}};
  Form terms = without_shift().form(inner);
  if (terms.size() == 1) terms[0] = with_positive_factor(terms[0]);
  if (terms.size() != 1 || terms[0].exponent != b_.zero() || !terms[0].factor->is_nonnegative ||
      (r->combine != Combine::max && terms[0].factor != b_.one()))
    refuse(fmt::format("{} of a value that is not monotone in its data", r->combine == Combine::max ? "the maximum" : "a reduction"),
           inner);
  if (is_exponent && has_pending(terms[0].factor)) refuse("the maximum of an exponent with a factor that waits", inner);
  return terms;
}

// A factor that is never positive gives its sign to the body, so that the term is monotone in its body.
FormTerm Forms::with_positive_factor(FormTerm t) {
  const Expr negated = b_.scale(-1, t.factor);
  return t.factor->is_nonnegative || !negated->is_nonnegative ? t : FormTerm{negated, t.exponent, b_.scale(-1, t.body)};
}

// Terms with equal exponents and bodies add their factors; terms with equal factors and exponents add their bodies. The terms are counted
// after each factor of a product, since a product of sums has the product of their numbers of terms.
Form Forms::merge(Form terms, Expr e) {
  for (const bool by_body : {true, false}) {
    std::map<std::pair<ExprKey, ExprKey>, FormTerm> merged;
    for (const FormTerm& t : terms) {
      const std::pair key{t.exponent->key, by_body ? t.body->key : t.factor->key};
      const auto [at, is_new] = merged.emplace(key, t);
      if (is_new) continue;
      FormTerm& sum = at->second;
      (by_body ? sum.factor : sum.body) = by_body ? b_.add({sum.factor, t.factor}) : b_.add({sum.body, t.body});
    }
    terms.clear();
    for (auto& [key, t] : merged)
      if (t.factor != b_.zero() && t.body != b_.zero()) terms.push_back(t);
  }
  if (terms.size() > kMostFormTerms) refuse(fmt::format("a value that needs more than {} accumulators", kMostFormTerms), e);
  return terms;
}

Form Forms::multiply(const Form& a, const Form& b, Expr e) {
  Form all;
  for (const FormTerm& x : a)
    for (const FormTerm& y : b) {
      // The sum of two references would be rounded as one number.
      if (x.exponent != b_.zero() && y.exponent != b_.zero()) refuse("a product of exponentials with a reference each", e);
      all.push_back({b_.product({x.factor, y.factor}), b_.add({x.exponent, y.exponent}), b_.product({x.body, y.body})});
    }
  return merge(std::move(all), e);
}

Form Forms::make(Expr e) {
  if (!has_pending(e)) return {{b_.one(), b_.zero(), e}};
  if (!e->axes.contains(loop_)) return {{e, b_.zero(), b_.one()}};
  switch (e->kind) {
    case ExprKind::add: return sum(e);
    case ExprKind::mul: return product(e);
    case ExprKind::exp: return exponential(e, {});
    case ExprKind::select: return selection(e);
    case ExprKind::log: return logarithm(e);
    case ExprKind::reduce: return inner_reduction(e);
    case ExprKind::indicator: refuse("a mask that depends on a pending reduction", e);
    case ExprKind::function:
      if (e->function == OpKind::abs_) {
        const Form& x = form(e->operands[0]);
        if (x.size() == 1) return {{b_.absolute(x[0].factor), x[0].exponent, b_.absolute(x[0].body)}};
      }
      refuse(fmt::format("{} of a value with data and a pending reduction", ir::text(e->function)), e);
    default: refuse("a value with data and a pending reduction", e);
  }
}

Form Forms::sum(Expr e) {
  std::vector<Expr> data, pending, shifted;
  Form rest;
  for (const Term& t : e->terms) {
    const Expr value = b_.scale(t.coefficient, t.value);
    if (!has_pending(t.value)) {
      data.push_back(value);
    } else if (!t.value->axes.contains(loop_)) {
      pending.push_back(value);
      if (!t.coefficient.is_zero()) shifted.push_back(value);  // 0 x, which is 0 or NaN, is far from no data
    } else {
      for (const FormTerm& x : form(t.value)) rest.push_back({b_.scale(t.coefficient, x.factor), x.exponent, x.body});
    }
  }
  const Expr d = b_.add(data), p = b_.add(pending);
  Form all;
  // Sums of integers do not lose accuracy by cancellation: they wrap.
  if (d != b_.zero() && !shifted.empty() && p != b_.zero() && shift_ && ir::is_float(e->element) && d->axes.contains(loop_)) {
    const Expr reference = shift_of(shifted);
    all = {{b_.one(), b_.zero(), b_.add({d, reference})}, {b_.subtract(p, reference), b_.zero(), b_.one()}};
  } else {
    if (d != b_.zero()) all.push_back({b_.one(), b_.zero(), d});
    if (p != b_.zero()) all.push_back({p, b_.zero(), b_.one()});
  }
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

// A value that is subtracted as one number is rounded as one number: for x - m - log l with a maximum m, the sum of m and log l would have
// lost digits of log l, while x - m is exact; and a sum of the means of x and z would be subtracted from x + z, which is rounded before. So
// each value has a reference for its averages and one for its extremes, multiplied by the value's coefficient. The rest has another one.
Expr Forms::shift_of(const std::vector<Expr>& pending) {
  struct Group {
    Rational coefficient = 0;  // the coefficient of the values in their average
    std::vector<Expr> pending;
  };
  std::map<std::pair<ExprKey, bool>, Group> groups;
  std::vector<Expr> rest[2], references;
  for (Expr p : pending) {
    const bool is_chosen = is_extreme(b_, p);
    const std::optional<Term> values = averaged_values(b_, p);
    if (!values) {
      rest[is_chosen].push_back(p);
      continue;
    }
    Group& group = groups[{values->value->key, is_chosen}];
    group.coefficient += -values->coefficient;
    group.pending.push_back(p);
  }
  for (const auto& [key, group] : groups) {
    Rational c = group.coefficient.is_negative() ? -group.coefficient : group.coefficient;
    if (c.is_zero()) c = 1;
    references.push_back(b_.scale(c, b_.shift_reference(b_.scale(Rational(1) / c, b_.add(group.pending)))));
  }
  for (const std::vector<Expr>& others : rest) references.push_back(b_.shift_reference(b_.add(others)));
  return b_.add(references);
}

Form Forms::product(Expr e) {
  Form all{{b_.number(e->number), b_.zero(), b_.one()}};
  const std::vector<Expr> conditions = conditions_of(e->factors);
  bool is_scaled = false;  // whether a pending value of unknown magnitude is a factor
  Rational sums = 0;       // number of factors that are sums of data and pending values
  // A factor is not looked at where a mask hides it. Any other factor is, as a guard, which is NaN there.
  const auto hidden = [&](const Factor& f, Expr factor) {
    std::vector<Expr> conditions;
    for (const Factor& mask : e->factors)
      if (is_mask(mask) && !mask.base->axes.contains(loop_) && hides(mask, f)) conditions.push_back(mask.base->operands[0]);
    return hidden_where_not(b_.conjunction(conditions), factor);
  };
  const auto expect_untested = [&](const Factor& f) {
    if (!has_pending(f.base)) return;
    for (const Factor& mask : e->factors)
      if (is_mask(mask) && mask.base->axes.contains(loop_) && tests(mask, f)) refuse("a mask that tests a value which it hides", e);
  };
  for (const Factor& f : e->factors) {
    expect_untested(f);
    Form x = f.base->is(ExprKind::exp) && has_pending(f.base) ? exponential(f.base, conditions) : form(f.base);
    // A root may be taken of both parts of a product only if one of them is known to be >= 0: two negative parts have no roots.
    if (x.size() == 1 && !f.exponent.is_integer() && !x[0].factor->is_nonnegative && !x[0].body->is_nonnegative)
      refuse("a root of a product of data and a pending reduction whose signs are not known", f.base);
    if (x.size() == 1) {
      const Expr factor = b_.power(x[0].factor, f.exponent);
      is_scaled = is_scaled || (!pending_.empty() && has_pending(factor) && !is_moderate(b_, factor));
      all = multiply(all, {{hidden(f, factor), b_.scale(f.exponent, x[0].exponent), b_.power(x[0].body, f.exponent)}}, e);
    } else if (f.exponent.is_integer() && !f.exponent.is_negative() && f.exponent <= Rational(kMostPowerOfSum)) {
      for (FormTerm& t : x) t.factor = hidden(f, t.factor);
      for (Rational i = 0; i < f.exponent; i += 1) all = multiply(all, x, e);
      sums += f.exponent;
    } else {
      refuse(f.exponent.is_negative() ? "a division by a sum of data and a pending reduction"
                                      : "a root of a sum of data and a pending reduction",
             f.base);
    }
  }
  if (sums > Rational(1))
    for (const Factor& f : e->factors)
      if (form(f.base).size() > 1) check_power(f.base, e);
  if (is_scaled && !std::all_of(all.begin(), all.end(), [&](const FormTerm& t) { return is_linear(b_, t.body); }))
    refuse("a power that keeps its range by a pending reduction", e);
  return all;
}

// The terms of a product of sums cancel where the sums are small. A shifted sum does not cancel if its reference is near the data: if it is
// an average of the data, with weights that are 0 only where the product is.
void Forms::check_power(Expr sum, Expr product) {
  if (pending_.empty() || !ir::is_float(sum->element)) return;  // integers wrap, so they do not lose accuracy
  const Form& terms = form(sum);
  if (std::all_of(terms.begin(), terms.end(), [](const FormTerm& t) { return t.factor->is_nonnegative && t.body->is_nonnegative; })) return;
  const char* const reason = "a product of differences of data and a pending reduction that is not an average of the data";
  std::vector<Expr> data, pending;
  for (const Term& t : b_.terms(sum)) {
    if (has_pending(t.value) && t.value->axes.contains(loop_)) refuse(reason, sum);
    (has_pending(t.value) ? pending : data).push_back(b_.scale(t.coefficient, t.value));
  }
  const Expr d = b_.add(data), p = b_.add(pending);
  if (!shift_ || !d->axes.contains(loop_)) refuse(reason, sum);
  if (!reads_all_data_of(p, d)) refuse(reason, sum);
  std::vector<Expr> sums;
  for (Expr r : pending_)
    if (r->combine == Combine::sum && contains(p, r)) sums.push_back(r);
  const std::vector<Expr> weights = weights_of_average(b_, sums, d, loop_);
  if (weights.empty()) return;
  const bool is_weighted = std::all_of(weights.begin(), weights.end(), [&](Expr w) { return has_weight(b_, product, w); });
  if (!is_weighted || !is_ratio_of_sums(b_, p, sums)) refuse("a product of differences of data and an average by other weights", sum);
}

// Operands of products of narrow floats must be values that such floats hold, also without the deferred factors.
void Forms::check_operand(Expr reduce, const Form& terms) {
  if (!is_narrow(reduce->operand_element.element)) return;
  for (const FormTerm& t : terms)
    if ((has_pending(t.factor) || has_pending(t.exponent)) && !factors_fit_operand(b_, t.body, reduce->operand_element.element))
      refuse(fmt::format("an operand that keeps the range of {} by a pending reduction", ir::text(reduce->operand_element.element)),
             reduce);
}

// exp(u): each term of u must be data, or pending. The reference of a pending term is its value so far, which keeps the exponential in
// range if the term is a maximum of the data, or bounded.
Form Forms::exponential(Expr e, const std::vector<Expr>& conditions) {
  std::vector<Expr> pending, data;
  Expr factor = b_.one();
  for (const Term& t : b_.terms(e->operands[0])) {
    if (t.coefficient.is_zero() && has_pending(t.value)) {
      // exp(0 p) is 1, or NaN, which p is not yet at the first tile.
      if (t.value->axes.contains(loop_)) refuse("exp of 0 times a value with data and a pending reduction", e);
      factor = b_.product({factor, b_.exp(b_.scale(0, t.value))});
    } else if (!has_pending(t.value)) {
      data.push_back(b_.scale(t.coefficient, t.value));
    } else if (!t.value->axes.contains(loop_)) {
      pending.push_back(b_.scale(t.coefficient, t.value));
    } else {
      for (const FormTerm& x : without_shift().form(t.value)) {
        const bool is_pending = has_pending(x.factor);
        if (x.exponent != b_.zero() || (is_pending && x.body->axes.contains(loop_)))
          refuse("exp of a product of data and a pending reduction", e);
        (is_pending ? pending : data).push_back(b_.scale(t.coefficient, b_.product({x.factor, x.body})));
      }
    }
  }
  const Expr a = b_.add(pending);
  if (a == b_.zero() && !pending_.empty()) return {{factor, a, b_.exp(b_.add(data))}};
  data.push_back(b_.reference(a));
  const Expr body = b_.add(data);
  const ValueBounds bounds = value_bounds(a);
  const double moderate = kSpareBits * std::log(2.0);
  const bool is_transport = pending_.empty();
  if (!is_transport && !is_exp_at_most_one(b_, body, conditions) && !(bounds.least >= -moderate && bounds.greatest <= moderate))
    refuse("exp of a difference of data and a pending reduction that is not a maximum of the data", e);
  return {{factor, a, b_.exp(body)}};
}

Form Forms::selection(Expr e) {
  const Expr condition = e->operands[0], value = e->operands[1], other = e->operands[2];
  if (has_pending(condition)) refuse("a mask that depends on a pending reduction", e);
  if (other->is(ExprKind::infinity)) refuse("an infinity outside of an exponent and of a maximum", e);
  Form all;
  const auto add_masked = [&](Expr mask, Expr part) {
    for (const FormTerm& x : form(part)) {
      // 0 times an infinite factor is NaN, where the mask should give 0.
      if (mask->axes.contains(loop_) && has_pending(x.factor) && x.factor->finite == Finite::unknown)
        refuse("a mask that hides a factor which may be infinite", e);
      const Expr factor = mask->axes.contains(loop_) ? x.factor : hidden_where_not(mask, x.factor);
      all.push_back({factor, x.exponent, b_.select(mask, x.body, b_.zero(), e->element)});
    }
  };
  add_masked(condition, value);
  add_masked(b_.negation(condition), other);
  return all;
}

// A pending factor may be anything where a mask hides the value that it belongs to, and 0 times it may be NaN.
Expr Forms::hidden_where_not(Expr mask, Expr factor) {
  return has_pending(factor) ? b_.select(mask, factor, b_.zero(), factor->element) : factor;
}

Form Forms::logarithm(Expr e) {
  const Form& x = form(e->operands[0]);
  if (x.size() != 1) refuse("log of a sum of data and a pending reduction", e);
  if (x[0].exponent != b_.zero()) refuse("log of a value that moves with a reference", e);
  if (!x[0].factor->is_nonnegative && !x[0].body->is_nonnegative)
    refuse("log of a product of data and a pending reduction whose signs are not known", e);
  // log(a / b) is near 0 for two great numbers near each other, and log a - log b is as exact as either.
  if (x[0].body != b_.one() && !pending_.empty() && !is_moderate(b_, x[0].factor))
    refuse("log of a product of data and a pending reduction whose logarithms may cancel", e);
  return {{b_.log(x[0].factor), b_.zero(), b_.one()}, {b_.one(), b_.zero(), b_.log(x[0].body)}};
}

// A reduction over other axes is linear in factors that do not vary along them.
Form Forms::inner_reduction(Expr e) {
  const bool is_sum = e->combine == Combine::sum;
  if (e->operands.size() > 1 || (!is_sum && e->combine != Combine::max))
    refuse("a reduction of a value with data and a pending reduction", e);
  const Form body = (is_sum ? *this : without_shift()).form(e->operands[0]);
  Form all;
  for (FormTerm x : body) {
    if (!is_sum) x = with_positive_factor(x);
    if (e->bound.intersects(x.factor->axes) || e->bound.intersects(x.exponent->axes))
      refuse("a factor that depends on a pending reduction, inside of a reduction over an axis of that factor", e);
    if (!is_sum && (body.size() != 1 || x.exponent != b_.zero() || !x.factor->is_nonnegative))
      refuse("the maximum of a value that is not monotone in its data", e);
    // A sum over no elements is 0, whatever its factor is.
    if (is_sum && !x.factor->is(ExprKind::number)) x.factor = b_.select(b_.have_positions(e->bound), x.factor, b_.zero());
    all.push_back({x.factor, x.exponent, b_.reduce(e->combine, e->bound, x.body, e->operand_element, e->element)});
  }
  if (is_sum) check_operand(e, body);
  return all;
}

}  // namespace tilewright::passes::fusion
