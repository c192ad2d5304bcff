// Emits sums and products in an order that keeps the range and the exactness of the formula.
#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/averaged.h"
#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

Rational magnitude(const Rational& c) { return c.is_negative() ? -c : c; }

// None if the fraction does not fit or the divisor is 0.
std::optional<Rational> quotient(const Rational& a, const Rational& b) {
  if (b.is_zero()) return std::nullopt;
  try {
    return a / b;
  } catch (const ir::RationalOverflow&) {
    return std::nullopt;
  }
}

// Whether a value reads memory outside of reductions.
bool is_data(Expr e, ExprSet& seen) {
  if (e->is(ExprKind::load)) return true;
  if (e->is(ExprKind::reduce) || e->is_reference() || !seen.insert(e).second) return false;
  const Children inside = children(e);
  return std::any_of(inside.begin(), inside.end(), [&](Expr x) { return is_data(x, seen); });
}

// Removes the change of a reference, s - y for a reference y to s, from the terms, for each reference whose s is one of the terms.
std::vector<std::vector<Term>> take_changes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<std::vector<Term>> changes;
  for (const Term& shift : std::vector<Term>(terms)) {
    if (!shift.value->is(ExprKind::shift_reference)) continue;
    std::vector<Term> change = b.terms(b.scale(-shift.coefficient, shift.value->operands[0]));
    const auto is_there = [&](const Term& t) { return std::find(terms.begin(), terms.end(), t) != terms.end(); };
    if (!std::all_of(change.begin(), change.end(), is_there)) continue;
    change.push_back(shift);
    std::erase_if(terms, [&](const Term& t) { return std::find(change.begin(), change.end(), t) != change.end(); });
    changes.push_back(std::move(change));
  }
  return changes;
}

// The terms that are left of a sum if all of these terms are taken out of it; none if it lacks one of them.
std::optional<std::vector<Term>> without_terms(std::vector<Term> sum, std::span<const Term> taken) {
  for (const Term& t : taken) {
    const auto at = std::find_if(sum.begin(), sum.end(), [&](const Term& s) { return s.value == t.value && !s.coefficient.is_zero(); });
    if (at == sum.end() || constant_value(t.value)) return std::nullopt;
    try {
      at->coefficient = at->coefficient - t.coefficient;
    } catch (const ir::RationalOverflow&) {
      return std::nullopt;
    }
    if (at->coefficient.is_zero()) sum.erase(at);
  }
  return sum;
}

// Removes an extreme and the values that it is chosen from from the terms, for each extreme of some but not all of the terms: of
// x + z - max x - max z each difference is exact, while x + z is rounded, and so is max x + max z.
std::vector<std::vector<Term>> take_below_extremes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<std::vector<Term>> differences;
  for (const Term& t : std::vector<Term>(terms)) {
    const std::optional<Term> values = is_extreme(b, t.value) ? averaged_values(b, t.value) : std::nullopt;
    if (!values || t.coefficient.is_zero() || std::find(terms.begin(), terms.end(), t) == terms.end()) continue;
    const std::vector<Term> chosen_from = b.terms(b.scale(-t.coefficient * values->coefficient, values->value));
    std::optional<std::vector<Term>> left = without_terms(terms, chosen_from);
    if (!left || left->size() + chosen_from.size() != terms.size()) continue;
    std::erase(*left, t);
    if (left->empty()) continue;
    terms = std::move(*left);
    differences.push_back(chosen_from);
    differences.back().push_back(t);
  }
  return differences;
}

// coefficient * (values + reference) or coefficient * (reference - values), where the reference stands for an average or an extreme that
// cancels the values; or coefficient * (values - reference), where the reference changes to these values.
struct Difference {
  enum class Kind : std::uint8_t { added, subtracted, change } kind;
  Rational coefficient;
  Expr values, reference;
};
// Removes the changes of several references from the terms. Each is computed as one value, so that all multiples of their sum have the same
// rounding errors.
std::vector<Difference> take_several_changes(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<Term> left = terms;
  std::vector<Difference> all;
  for (const std::vector<Term>& change : take_changes(b, left)) {
    const Term& shift = change.back();
    all.push_back({Difference::Kind::change, -shift.coefficient, shift.value->operands[0], shift.value});
  }
  if (all.size() < 2) return {};
  terms = std::move(left);
  return all;
}
// Removes differences from references from the terms. Those that are added come before those that are subtracted.
std::vector<Difference> take_differences(ExprBuilder& b, std::vector<Term>& terms) {
  std::vector<Difference> differences;
  for (const Term& shift : std::vector<Term>(terms)) {
    if (!shift.value->is(ExprKind::shift_reference) || shift.coefficient.is_zero()) continue;
    const std::optional<Term> near = averaged_values(b, shift.value->operands[0]);
    if (!near || near->coefficient.is_zero()) continue;
    const Expr values = b.scale(magnitude(near->coefficient), near->value);
    const bool is_added = near->coefficient.is_negative();
    std::optional<std::vector<Term>> left =
        without_terms(terms, b.terms(b.scale(is_added ? shift.coefficient : -shift.coefficient, values)));
    if (!left) continue;
    terms = std::move(*left);
    std::erase(terms, shift);
    differences.push_back({is_added ? Difference::Kind::added : Difference::Kind::subtracted, shift.coefficient, values, shift.value});
  }
  std::stable_partition(differences.begin(), differences.end(), [](const Difference& d) { return !d.coefficient.is_negative(); });
  return differences;
}

// How many factors of a product have unknown magnitude; a power counts once for each multiplication by its base.
double unknown_factors(ExprBuilder& b, Expr e) {
  double count = is_moderate(e->number) ? 0 : 1;
  for (const Factor& f : e->factors)
    if (!is_moderate(b, f.base) && !fits_operand(b, f.base, Element::f16)) count += std::ceil(std::fabs(f.exponent.to_double()));
  return count;
}

}  // namespace

// (x - y) c is c x - c y in normal form, where the difference of the rounded products may be inaccurate. So c multiplies the sum of the
// terms that have it, or that have a small multiple of it. Powers of two cause no rounding, and do not count as multiples.
std::vector<Term> TileValues::grouped_terms(Expr sum) {
  constexpr std::int64_t kMostMultiple = 16;
  std::vector<Term> left = sum->terms, grouped;
  std::stable_sort(left.begin(), left.end(),
                   [](const Term& a, const Term& b) { return magnitude(a.coefficient) < magnitude(b.coefficient); });
  while (!left.empty()) {
    const Rational c = magnitude(left.front().coefficient);
    const auto equal = std::count_if(left.begin(), left.end(), [&](const Term& t) { return magnitude(t.coefficient) == c; });
    std::vector<Term> members;
    const auto is_exact = [](const Rational& x) { return is_power_of_two(magnitude(x)) && fusion::is_moderate(x); };
    const auto multiple_of = [&](const Term& t) -> std::optional<Rational> {
      const std::optional<Rational> m = quotient(t.coefficient, c);
      const bool is_small = m && equal > 1 && m->is_integer() && magnitude(*m) <= Rational(kMostMultiple) && !is_exact(t.coefficient);
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

Part TileValues::emit_written(const WrittenValue& written, const Order& own, Element element) {
  if (written.kind == WrittenValue::Kind::power) return power(written.left, written.exponent, own, element);
  const OpKind op = written.kind == WrittenValue::Kind::product    ? OpKind::mul_
                    : written.kind == WrittenValue::Kind::quotient ? OpKind::div_
                                                                   : OpKind::add_;
  return build_.binary(op, value_as(written.left, own, element), value_as(written.right, own, element), own);
}

// If several factors of a product have unknown magnitude, a partial product may leave the range that the formula's own partial products
// keep.
std::optional<Part> TileValues::emit_written_product(Expr e, const Order& own) {
  const std::vector<Expr> conditions = conditions_of(e->factors);
  if (!conditions.empty()) {
    std::vector<Factor> rest;
    std::copy_if(e->factors.begin(), e->factors.end(), std::back_inserter(rest),
                 [](const Factor& f) { return !f.base->is(ExprKind::indicator) || f.exponent.is_negative(); });
    const Expr product = exprs_.multiply(e->number, rest);
    const auto inside = product->is(ExprKind::mul) ? emit_written_product(product, own) : std::nullopt;
    if (!inside) return std::nullopt;
    return build_.select(value(exprs_.conjunction(conditions), own), *inside, build_.constant(e->element, 0), own);
  }
  constexpr double kFew = 2;
  if (unknown_factors(exprs_, e) <= kFew) return std::nullopt;
  if (const WrittenValue* written = exprs_.pool().written_value(e)) return emit_written(*written, own, e->element);
  // The program may write t, where 1 - t contains -t.
  const Expr negative = exprs_.scale(-1, e);
  if (!exprs_.pool().written_value(negative)) return std::nullopt;
  return build_.unary(OpKind::neg_, value_as(negative, own, e->element));
}

// How a sum is computed as it is written, if that matters: if it has several differences of data, a partial sum may be rounded where the
// formula's own partial sums are exact; if a difference is multiplied by a number, so may be the products of its parts. Values that a loop
// has computed have errors of their own.
std::optional<WrittenValue> TileValues::written_sum(Expr e) {
  const auto negative = std::count_if(e->terms.begin(), e->terms.end(), [](const Term& t) { return t.coefficient.is_negative(); });
  const auto terms = static_cast<std::ptrdiff_t>(e->terms.size());
  const auto data = std::count_if(e->terms.begin(), e->terms.end(), [](const Term& t) {
    ExprSet seen;
    return is_data(t.value, seen);
  });
  if (negative == 0 || negative == terms || data == 0) return std::nullopt;
  const WrittenValue* written = exprs_.pool().written_value(e);
  if (!written) return std::nullopt;
  const bool is_multiple = written->kind == WrittenValue::Kind::product && written->right->is(ExprKind::number);
  const bool is_exact_multiple = is_multiple && is_power_of_two(magnitude(written->right->number));
  if (terms <= 2 && (!is_multiple || is_exact_multiple)) return std::nullopt;
  return *written;
}

// Whether a value is computed from a sum of which it has all terms: as it is written, or as a multiple.
bool TileValues::is_computed_from(Expr value, Expr sum) {
  const auto has_all_terms = [&](Expr e) {
    return std::all_of(sum->terms.begin(), sum->terms.end(), [&](const Term& t) {
      return std::any_of(e->terms.begin(), e->terms.end(), [&](const Term& own) { return own.value == t.value; });
    });
  };
  ExprSet seen;
  std::vector<Expr> open{value};
  while (!open.empty()) {
    const Expr e = open.back();
    open.pop_back();
    if (e == sum) return true;
    if (!e->is(ExprKind::add) || ir::is_integer(e->element) || !has_all_terms(e) || !seen.insert(e).second) continue;
    if (const std::optional<WrittenValue> written = written_sum(e)) {
      open.push_back(written->left);
      if (written->right) open.push_back(written->right);
    } else if (const std::vector<Term> groups = grouped_terms(e); groups.size() == 1) {
      open.push_back(groups[0].value);
    }
  }
  return false;
}

// The value of x - z is known as (c x - c z) / c where c x - c z has been divided by its coefficient. But c x - c z is computed as
// c (x - z): then x - z is not computed as it is written.
std::optional<Part> TileValues::emit_written_sum(Expr e, const Order& own) {
  const std::optional<WrittenValue> written = written_sum(e);
  if (!written || is_computed_from(written->left, e) || (written->right && is_computed_from(written->right, e))) return std::nullopt;
  return emit_written(*written, own, e->element);
}

// If a sum has no written order, data minus their maximum come first, which is exact near the maximum, and then terms that are rounded
// anyway: (x - m) - log l, not x - (m + log l). The same holds for the change of each reference.
std::optional<Part> TileValues::emit_exact_first(Expr e, const Order& own) {
  if (e->terms.size() <= 2) return std::nullopt;
  std::vector<Term> left = e->terms, data, extremes, others;
  std::vector<std::vector<Term>> groups = take_changes(exprs_, left);
  std::vector<std::vector<Term>> differences = take_below_extremes(exprs_, left);
  AxisSet axes;
  for (const Term& t : left)
    if (is_extreme(exprs_, t.value)) {
      extremes.push_back(t);
      axes.insert(t.value->axes);
    }
  for (const Term& t : left)
    if (!is_extreme(exprs_, t.value)) {
      ExprSet seen;
      (!axes.contains(t.value->axes) || is_data(t.value, seen) ? data : others).push_back(t);
    }
  if (!differences.empty()) {
    differences.push_back(std::move(left));
    groups.insert(groups.begin(), differences.begin(), differences.end());
  } else if (groups.empty() && others.empty() && data.size() > 1 && !extremes.empty() && grouped_terms(e).size() > 1) {
    groups = {std::move(data), std::move(extremes)};
  } else if (extremes.empty() || others.empty() || extremes.size() + data.size() < 2) {
    groups.push_back(std::move(left));
  } else {
    data.insert(data.end(), extremes.begin(), extremes.end());
    groups.insert(groups.begin(), {std::move(data), std::move(others)});
  }
  std::erase_if(groups, [](const std::vector<Term>& g) { return g.empty(); });
  if (groups.size() < 2) return std::nullopt;
  std::optional<Part> sum;
  for (std::vector<Term>& group : groups) {
    const bool is_subtracted = sum && std::all_of(group.begin(), group.end(), [](const Term& t) { return t.coefficient.is_negative(); });
    if (is_subtracted)
      for (Term& t : group) t.coefficient = -t.coefficient;
    const Part x = value_as(exprs_.add_terms(group), own, e->element);
    sum = sum ? build_.binary(is_subtracted ? OpKind::sub_ : OpKind::add_, *sum, x, own) : x;
  }
  return sum;
}

// Differences from a reference are computed first: the values as they are written, minus the reference, then times their coefficient. Such
// a difference is small, and so is its rounding error.
std::optional<Part> TileValues::emit_differences(Expr e, const Order& own) {
  std::vector<Term> left = e->terms;
  std::vector<Difference> differences = take_several_changes(exprs_, left);
  for (Difference& d : take_differences(exprs_, left)) differences.push_back(std::move(d));
  if (differences.empty()) return std::nullopt;
  const Difference& first = differences.front();
  if (e->terms.size() == 2 && first.coefficient.is_one()) return std::nullopt;
  std::optional<Part> sum;
  for (const Difference& d : differences) {
    const Part values = value_as(d.values, own, e->element);
    const bool is_change = d.kind == Difference::Kind::change;
    const bool is_chosen = !is_change && is_extreme(exprs_, d.reference);  // from the rounded values
    const Part reference = value_as(d.reference, own, e->element), near = is_chosen ? rounded(values) : values;
    Part x = is_change                                ? build_.binary(OpKind::sub_, near, reference, own)
             : d.kind == Difference::Kind::subtracted ? build_.binary(OpKind::sub_, reference, near, own)
                                                      : build_.binary(OpKind::add_, reference, near, own);
    const Rational c = sum ? magnitude(d.coefficient) : d.coefficient;
    if (!c.is_one()) x = build_.binary(OpKind::mul_, x, build_.constant(e->element, c.to_double()), own);
    sum = sum ? build_.binary(d.coefficient.is_negative() ? OpKind::sub_ : OpKind::add_, *sum, x, own) : x;
  }
  return left.empty() ? *sum : build_.binary(OpKind::add_, *sum, value_as(exprs_.add_terms(left), own, e->element), own);
}

// A sum or a product minus the maximum of such values. Computed in another order, it could be far above the maximum if both are large: so
// the exponent uses the same value, multiplied in the same way as the maximum. For a value of a single op, c x - c max(x) is c (x -
// max(x)), which is exact; a power of two causes no rounding. Other terms of the exponent come last: they may be small beside x.
std::optional<TileValues::BelowMaximum> TileValues::below_maximum(Expr exponent) {
  const std::vector<Term> all = exprs_.terms(exponent);
  std::optional<BelowMaximum> found;
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
        if (!found) found = BelowMaximum{x, offset, exprs_.add_terms(*others)};
        continue;
      }
      const bool is_difference = !is_reference && exprs_.split_coefficient(offset).coefficient == -x.factor;
      const bool is_one_op = !x.value->is(ExprKind::add) && !x.value->is(ExprKind::mul);
      if (is_one_op && (is_difference || is_power_of_two(magnitude(x.factor)))) break;
      return BelowMaximum{x, offset, {}};
    }
  }
  return found;
}

Part TileValues::rounded_multiple(const Multiple& m, const Order& own, Element element) {
  const Part x = value_as(m.value, own, element);
  if (m.factor.is_one()) return rounded(x);
  return build_.ternary(OpKind::fma_, x, build_.constant(element, m.factor.to_double()), build_.constant(element, 0), own);
}

// If a product became part of a subtraction, it would not be rounded; fma(x, y, 0) prevents that. The same is done for the sum of a
// quotient and 0, which may become a product with a reciprocal, and for a product in another order of axes.
Part TileValues::rounded(const Part& x) {
  const ir::Function& f = ir_.function();
  const Part zero = build_.constant(build_.element(x), 0);
  if (const ir::OpId negative = f.defined_by(x.value, OpKind::neg_))
    return build_.unary(OpKind::neg_, rounded({f.operand(negative, 0), x.axes}));
  if (f.defined_by(x.value, OpKind::div_)) return build_.binary(OpKind::add_, x, zero, x.axes);
  const ir::OpId product = f.defined_by(x.value, OpKind::mul_);
  if (!product) {
    ir::ValueId source = x.value;
    while (const ir::OpId permute = f.defined_by(source, OpKind::permute_)) source = f.operand(permute, 0);
    const bool is_product = source != x.value && (f.defined_by(source, OpKind::mul_) || f.defined_by(source, OpKind::div_));
    return is_product ? build_.binary(OpKind::add_, x, zero, x.axes) : x;
  }
  return build_.ternary(OpKind::fma_, {f.operand(product, 0), x.axes}, {f.operand(product, 1), x.axes}, zero, x.axes);
}

}  // namespace tilewright::passes::fusion
