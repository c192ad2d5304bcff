// Decides in which order sums of floats are computed, and from what.
#include "passes/fusion/emit/sum_order.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/products.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

namespace {

// None if the fraction does not fit or the divisor is 0.
std::optional<Rational> quotient(const Rational& a, const Rational& b) {
  if (b.is_zero()) return std::nullopt;
  try {
    return a / b;
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
}

bool is_float_sum(Expr e) { return e->is(ExprKind::add) && ir::is_float(e->element); }

// Whether terms of a sum may have different signs.
bool may_cancel(Expr sum) {
  const bool is_negative = sum->terms.front().coefficient.is_negative();
  return std::any_of(sum->terms.begin(), sum->terms.end(),
                     [&](const Term& t) { return t.coefficient.is_negative() != is_negative || !t.value->is_nonnegative; });
}

// A sum with a reference as the multiple in which the reference has the coefficient 1 or -1. Other multiples of the change of an average of n
// values may be n and 1 / n times that one, which are too far from each other.
Expr with_plain_reference(ExprBuilder& b, Expr sum) {
  for (const Term& t : sum->terms)
    if (t.value->is(ExprKind::shift_reference) && !t.coefficient.is_zero()) return b.scale(Rational(1) / magnitude(t.coefficient), sum);
  return sum;
}

// The quotient of two sums that are multiples of each other; none if it does not fit.
std::optional<Rational> quotient_of_multiples(Expr sum, Expr of) {
  const auto first = std::find_if(of->terms.begin(), of->terms.end(), [](const Term& t) { return !t.coefficient.is_zero(); });
  if (first == of->terms.end()) return std::nullopt;
  return quotient(sum->terms[static_cast<std::size_t>(first - of->terms.begin())].coefficient, first->coefficient);
}

}  // namespace

const SumOrder& SumOrders::order_of(Expr sum) {
  const auto known = orders_.find(sum);
  return known != orders_.end() ? known->second : orders_.emplace(sum, decide(sum)).first->second;
}

SumOrder SumOrders::decide(Expr sum) {
  using Kind = SumOrder::Kind;
  if (const Multiple m = base_of(sum); m.value != sum) return {.kind = Kind::multiple, .multiple = m};
  if (const std::optional<Difference> difference = difference_from_maximum(exprs_, sum->terms))
    return {.kind = Kind::differences, .differences = {*difference}};
  if (const std::optional<WrittenValue> written = written_order(sum)) return {.kind = Kind::written, .written = *written};
  std::vector<Term> left = sum->terms;
  if (std::vector<Difference> differences = take_exact_differences(exprs_, left); !differences.empty())
    return {.kind = Kind::differences, .differences = std::move(differences), .terms = std::move(left)};
  std::vector<Term> terms = grouped_terms(sum);
  if (std::vector<std::vector<Term>> groups = exact_groups(sum, terms.size() > 1); groups.size() > 1)
    return {.kind = Kind::groups, .groups = std::move(groups)};
  // A difference from a maximum is 0 or less only if each product is rounded as it was when the maximum was chosen.
  const bool has_maximum = std::any_of(sum->terms.begin(), sum->terms.end(), [&](const Term& t) { return is_extreme(exprs_, t.value); });
  return {.kind = Kind::terms, .terms = std::move(terms), .rounds_products = has_maximum};
}

// A product beside a large coefficient may differ much from what was written; a product of multiples has a number of its own.
Term SumOrders::summand(const Term& t, const SumOrder& order) {
  const auto has_multiples = [&] { return !order.rounds_products && product_of_bases(1, t.value->factors).number != 1; };
  if (!t.value->is(ExprKind::mul) || (is_moderate(t.coefficient) && !has_multiples())) return t;
  return {t.coefficient.is_negative() ? -1 : 1, exprs_.scale(magnitude(t.coefficient), t.value)};
}

// ---- exponents ----

// A sum or a product minus the maximum of such values. Computed in another order, it could be far above the maximum if both are large: so
// the exponent uses the same value, multiplied in the same way as the maximum. For a value of a single op, c x - c max(x) is c (x -
// max(x)), which is exact; a power of two causes no rounding. Other terms of the exponent come last: they may be small beside x.
std::optional<ExponentOrder> SumOrders::below_maximum(Expr exponent) {
  const std::vector<Term> all = exprs_.terms(exponent);
  std::optional<ExponentOrder> found;
  for (const Term& t : all) {
    const bool is_reference = t.value->is(ExprKind::reference);
    if (t.coefficient.is_zero() || t.value == exprs_.one() || (is_reference && !t.coefficient.is_one())) continue;
    std::vector<Term> rest = all;
    std::erase(rest, t);
    if (rest.empty()) continue;
    const Expr offset = exprs_.scale(t.coefficient, t.value);
    const Expr maximum = exprs_.scale(-1, is_reference ? t.value->operands[0] : offset);
    for (const Multiple& x : values_of_maximum(exprs_, maximum)) {
      const auto others = without_terms(rest, exprs_.terms(exprs_.scale(x.factor, x.value)));
      if (!others) continue;
      if (!others->empty()) {
        if (!found) found = ExponentOrder{ExponentOrder::Kind::below_maximum, x, offset, exprs_.add_terms(*others)};
        continue;
      }
      const bool is_difference = !is_reference && exprs_.split_coefficient(offset).coefficient == -x.factor;
      const bool is_one_op = !x.value->is(ExprKind::add) && !x.value->is(ExprKind::mul);
      if (is_one_op && (is_difference || is_power_of_two(magnitude(x.factor)))) break;
      return ExponentOrder{ExponentOrder::Kind::below_maximum, x, offset};
    }
  }
  return found;
}

// The reference is multiplied by log2(e) and rounded, which multiplies all values that refer to it by one factor; exp_of_rounding removes it.
// A score that is its own reference must stay at 0: x is rounded before it is multiplied by log2(e), unless its number is a power of two.
ExponentOrder SumOrders::exponent_order(Expr exponent, bool has_exp2) {
  using Kind = ExponentOrder::Kind;
  std::vector<Term> rest = exprs_.terms(exponent);
  const auto first =
      std::find_if(rest.begin(), rest.end(), [](const Term& t) { return t.value->is(ExprKind::reference) && t.coefficient.is_one(); });
  const Expr reference = first == rest.end() ? Expr() : first->value;
  if (reference) rest.erase(first);
  const std::optional<ExponentOrder> below = below_maximum(exponent);
  if (!has_exp2 || !reference || rest.empty()) return below.value_or(ExponentOrder{Kind::sum});
  const bool is_below = below && below->offset == reference;
  if (is_below) rest = {{below->x.factor, below->x.value}};
  ExponentOrder order{Kind::power_of_two, {1, {}}, reference, is_below ? below->others : Expr()};
  if (rest.size() == 1 && !constant_value(rest[0].value) && is_power_of_two(magnitude(rest[0].coefficient))) {
    order.x = {rest[0].coefficient, rest[0].value};
  } else if (is_below) {
    order.x = below->x;
    order.rounds_x = true;
  } else {
    order.x.value = exprs_.add_terms(rest);
  }
  return order;
}

// ---- multiples ----

// Sums that are multiples of each other are all computed from the first one that the user writes, or, if there is none, from the first
// one that the kernel has. If all terms of that sum have one number in common, they are computed from the sum without it. A sum whose
// terms cannot cancel has a small error however it is computed.
Multiple SumOrders::base_of(Expr sum) {
  if (const auto known = bases_.find(sum); known != bases_.end()) return known->second;
  const Multiple found = find_base(sum);
  return bases_.emplace(sum, found).first->second;
}

Multiple SumOrders::find_base(Expr sum) {
  const Multiple itself{1, sum};
  if (!may_cancel(sum)) return itself;
  const WrittenValue* own = exprs_.pool().written_value(sum);
  const bool is_written_multiple = own && own->kind == WrittenValue::Kind::product && own->right->is(ExprKind::number);
  Expr base = sum;
  if (const std::optional<ExprKey> key = key_of_multiples(sum)) {
    const std::optional<Expr> written = exprs_.pool().written_multiple(*key);
    if (written && !*written) return itself;
    base = written ? *written : first_multiples_.emplace(*key, with_plain_reference(exprs_, sum)).first->second;
  } else if (is_written_multiple) {
    base = own->left;
  }
  if (!written_order(base)) base = without_number(base);
  std::optional<Rational> factor = quotient_of_multiples(sum, base);
  // x - y has the rounding error of y - x: no sign has to be changed.
  if (factor && factor->is_negative() && !written_order(base)) {
    base = exprs_.scale(-1, base);
    factor = -*factor;
  }
  // Other sums that are written may be far from this one in magnitude.
  return factor && (is_written_multiple || is_moderate(*factor)) ? Multiple{*factor, base} : itself;
}

// A sum without the number that all its terms have in common.
Expr SumOrders::without_number(Expr sum) {
  const std::vector<Term> groups = grouped_terms(sum);
  if (groups.size() == 1) return is_float_sum(groups[0].value) ? groups[0].value : sum;
  const Rational c = magnitude(sum->terms.front().coefficient);
  const bool is_common = std::all_of(sum->terms.begin(), sum->terms.end(), [&](const Term& t) { return magnitude(t.coefficient) == c; });
  return is_common && !c.is_zero() ? exprs_.scale(Rational(1) / c, sum) : sum;
}

SumOrders::Product SumOrders::product_of_bases(Wide number, const std::vector<Factor>& factors) {
  Product product{number, factors};
  for (Factor& f : product.factors) {
    if (!is_float_sum(f.base)) continue;
    const Multiple base = base_of(f.base);
    if (base.factor.is_one() || (base.factor.is_negative() && !f.exponent.is_integer())) continue;
    product.number *= std::pow(wide(base.factor), wide(f.exponent));
    f.base = base.value;
  }
  // Powers of the factors may leave the range even of the number.
  const auto has_bits = [](Wide x) { return x != 0 && std::isfinite(x); };
  if (!has_bits(number) || !has_bits(product.number)) return {number, factors};
  const auto bits = [](Wide x) { return std::abs(std::ilogb(x)); };
  const bool is_in_range = bits(product.number) <= std::max(kSpareBits, bits(number));
  return is_in_range ? product : Product{number, factors};
}

// ---- as the user writes it ----

// How many factors of a product have unknown magnitude; a power counts once for each multiplication by its base.
double SumOrders::unknown_factors(Expr product) {
  double count = is_moderate(product->number) ? 0 : 1;
  for (const Factor& f : product->factors)
    if (!is_moderate(exprs_, f.base) && !fits_operand(exprs_, f.base, ir::Element::f16))
      count += std::ceil(std::fabs(f.exponent.to_double()));
  return count;
}

// If several factors of a product have unknown magnitude, a partial product may leave the range that the formula's own partial products
// keep.
std::optional<WrittenProduct> SumOrders::written_product(Expr e) {
  if (std::vector<Expr> conditions = conditions_of(e->factors); !conditions.empty()) {
    std::vector<Factor> rest;
    std::copy_if(e->factors.begin(), e->factors.end(), std::back_inserter(rest),
                 [](const Factor& f) { return !f.base->is(ExprKind::indicator) || f.exponent.is_negative(); });
    const Expr product = exprs_.multiply(e->number, rest);
    if (!product->is(ExprKind::mul)) return std::nullopt;
    std::optional<WrittenProduct> found = written_product(product);
    // The user may write a mask inside of the product: (a b) (m ? c : 0).
    const WrittenValue* own = exprs_.pool().written_value(e);
    if (has_exposed_factors(e)) {  // the mask must not hide the factors outside of it
      if (!own || unknown_factors(product) <= kMostUnknownFactors) return std::nullopt;
      return WrittenProduct{{}, e, *own, {}};
    }
    if (!found && own && unknown_factors(product) > kMostUnknownFactors) found = WrittenProduct{{}, product, *own, {}};
    if (found) found->conditions.insert(found->conditions.end(), conditions.begin(), conditions.end());
    return found;
  }
  if (unknown_factors(e) <= kMostUnknownFactors) return std::nullopt;
  WrittenProduct found{.conditions = {}, .product = e, .written = {}, .negative = {}};
  if (const WrittenValue* written = exprs_.pool().written_value(e)) {
    found.written = *written;
    return found;
  }
  // The user may write t, where 1 - t contains -t.
  found.negative = exprs_.scale(-1, e);
  return exprs_.pool().written_value(found.negative) ? std::optional(found) : std::nullopt;
}

// How a sum is computed as it is written, if that matters: if it has several differences of data, a partial sum may be rounded where the
// formula's own partial sums are exact; if a part may be made of another part, as q^2 is in q + q^2, both use one value of q, whose own terms
// are not added again. Values that a loop has computed have errors of their own, but a number beside their differences is a guard: (mean(x^2) -
// mean(x)^2) + 1e-3 is not 0 where the squares cancel, and (mean(x^2) + 1e-3) - mean(x)^2 may be.
std::optional<WrittenValue> SumOrders::written_order(Expr sum) {
  const WrittenValue* written = sum->terms.size() > 2 ? exprs_.pool().written_value(sum) : nullptr;
  if (!written || written->kind != WrittenValue::Kind::sum) return std::nullopt;
  const auto negative = std::count_if(sum->terms.begin(), sum->terms.end(), [](const Term& t) { return t.coefficient.is_negative(); });
  const bool has_differences = negative > 0 && negative < static_cast<std::ptrdiff_t>(sum->terms.size());
  const auto may_hold = [](Expr value, Expr part) { return is_float_sum(part) && part->height < value->height; };
  if (!has_differences && !may_hold(written->left, written->right) && !may_hold(written->right, written->left)) return std::nullopt;
  const auto is_exact = [&](const Term& t) { return reads_data(t.value) || (has_differences && constant_value(t.value)); };
  if (std::none_of(sum->terms.begin(), sum->terms.end(), is_exact)) return std::nullopt;
  return *written;
}

bool SumOrders::is_of_reductions(Expr term) {
  const std::vector<Term> terms = exprs_.terms(term);
  if (terms.size() != 1 || reads_data(term)) return false;
  const std::vector<Factor> factors = exprs_.factors(terms.front().value);
  return std::any_of(factors.begin(), factors.end(), [](const Factor& f) { return f.base->is(ExprKind::reduce) && f.exponent.is_one(); });
}

// Whether a value reads memory outside of reductions.
bool SumOrders::reads_data(Expr e) {
  const auto decide = [](Expr x) -> std::optional<bool> {
    if (x->is(ExprKind::load)) return true;
    return x->is(ExprKind::reduce) || x->is_reference() ? std::optional(false) : std::nullopt;
  };
  return known_fact(e, reads_data_, decide, [&](Expr x) {
    return std::any_of(children(x).begin(), children(x).end(), [&](Expr part) { return reads_data_.at(part); });
  });
}

// ---- in an order of the compiler ----

// (x - y) c is c x - c y in normal form, where the difference of the rounded products may be inaccurate. So c multiplies the sum of the
// terms that have it, or that have a small multiple of it. Powers of two cause no rounding, and do not count as multiples.
std::vector<Term> SumOrders::grouped_terms(Expr sum) {
  std::vector<Term> left = sum->terms, grouped;
  std::stable_sort(left.begin(), left.end(),
                   [](const Term& a, const Term& b) { return magnitude(a.coefficient) < magnitude(b.coefficient); });
  while (!left.empty()) {
    const Rational c = magnitude(left.front().coefficient);
    const auto equal = std::count_if(left.begin(), left.end(), [&](const Term& t) { return magnitude(t.coefficient) == c; });
    std::vector<Term> members;
    const auto is_exact = [](const Rational& x) { return is_power_of_two(magnitude(x)) && is_moderate(x); };
    const auto multiple_of = [&](const Term& t) -> std::optional<Rational> {
      const std::optional<Rational> m = quotient(t.coefficient, c);
      const bool is_small =
          m && equal > 1 && m->is_integer() && magnitude(*m) <= Rational(kMostGroupedMultiple) && !is_exact(t.coefficient);
      return m && (is_power_of_two(magnitude(*m)) || is_small) ? m : std::nullopt;
    };
    // 0 x stays where x may be infinite.
    if (!c.is_zero() && !is_exact(c))
      for (const Term& t : left)
        if (const auto multiple = multiple_of(t)) members.push_back({*multiple, t.value});
    if (members.size() < 2) {
      grouped.push_back(left.front());
      left.erase(left.begin());
      continue;
    }
    grouped.push_back({c, exprs_.add_terms(members)});
    std::erase_if(left, [&](const Term& t) { return multiple_of(t).has_value(); });
  }
  return grouped;
}

// If a sum has no written order, data minus their maximum come first, which is exact near the maximum, and then terms that are rounded
// anyway: (x - m) - log l, not x - (m + log l). The same holds for the change of each reference.
std::vector<std::vector<Term>> SumOrders::exact_groups(Expr sum, bool has_several_coefficients) {
  if (sum->terms.size() <= 2) return {};
  std::vector<Term> left = sum->terms, data, extremes, others;
  std::vector<std::vector<Term>> groups = take_changes(exprs_, left);
  std::vector<std::vector<Term>> differences = take_below_extremes(exprs_, left);
  AxisSet axes;
  for (const Term& t : left)
    if (is_extreme(exprs_, t.value)) {
      extremes.push_back(t);
      axes.insert(t.value->axes);
    }
  for (const Term& t : left)
    if (!is_extreme(exprs_, t.value)) (!axes.contains(t.value->axes) || reads_data(t.value) ? data : others).push_back(t);
  if (!differences.empty()) {
    differences.push_back(std::move(left));
    groups.insert(groups.begin(), differences.begin(), differences.end());
  } else if (groups.empty() && others.empty() && data.size() > 1 && !extremes.empty() && has_several_coefficients) {
    groups = {std::move(data), std::move(extremes)};
  } else if (extremes.empty() || others.empty() || extremes.size() + data.size() < 2) {
    groups.push_back(std::move(left));
  } else {
    data.insert(data.end(), extremes.begin(), extremes.end());
    groups.insert(groups.begin(), {std::move(data), std::move(others)});
  }
  std::erase_if(groups, [](const std::vector<Term>& g) { return g.empty(); });
  return groups;
}

}  // namespace tilewright::passes::fusion
