// Emits sums and products in an order that keeps the range and the exactness of the formula (sum_order.h).
#include <algorithm>
#include <cmath>
#include <optional>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

// How many factors of a product have unknown magnitude; a power counts once for each multiplication by its base.
double unknown_factors(ExprBuilder& b, Expr e) {
  double count = is_moderate(e->number) ? 0 : 1;
  for (const Factor& f : e->factors)
    if (!is_moderate(b, f.base) && !fits_operand(b, f.base, Element::f16)) count += std::ceil(std::fabs(f.exponent.to_double()));
  return count;
}

}  // namespace

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

Part TileValues::emit_float_sum(Expr e, const Order& own) {
  const SumOrder& order = sums_.order_of(e);
  switch (order.kind) {
    case SumOrder::Kind::multiple: return emit_multiple(order.multiple, own, e->element);
    case SumOrder::Kind::written: return emit_written(order.written, own, e->element);
    case SumOrder::Kind::differences: return emit_differences(order, own, e->element);
    case SumOrder::Kind::groups: return emit_groups(order, own, e->element);
    case SumOrder::Kind::terms: break;
  }
  return emit_terms(e, order.terms, own);
}

Part TileValues::emit_multiple(const Multiple& m, const Order& own, Element element) {
  const Part x = value_as(m.value, own, element);
  if ((-m.factor).is_one()) return build_.unary(OpKind::neg_, x);
  return build_.binary(OpKind::mul_, x, build_.constant(element, m.factor.to_double()), own);
}

Part TileValues::emit_differences(const SumOrder& order, const Order& own, Element element) {
  std::optional<Part> sum;
  for (const Difference& d : order.differences) {
    const Part values = value_as(d.values, own, element);
    const bool is_change = d.kind == Difference::Kind::change;
    const bool is_chosen = !is_change && is_extreme(exprs_, d.reference);  // from the rounded values
    const Part reference = value_as(d.reference, own, element), near = is_chosen ? rounded(values) : values;
    Part x = is_change                                ? build_.binary(OpKind::sub_, near, reference, own)
             : d.kind == Difference::Kind::subtracted ? build_.binary(OpKind::sub_, reference, near, own)
                                                      : build_.binary(OpKind::add_, reference, near, own);
    const Rational c = sum ? magnitude(d.coefficient) : d.coefficient;
    if (!c.is_one()) x = build_.binary(OpKind::mul_, x, build_.constant(element, c.to_double()), own);
    sum = sum ? build_.binary(d.coefficient.is_negative() ? OpKind::sub_ : OpKind::add_, *sum, x, own) : x;
  }
  return order.terms.empty() ? *sum : build_.binary(OpKind::add_, *sum, value_as(exprs_.add_terms(order.terms), own, element), own);
}

Part TileValues::emit_groups(const SumOrder& order, const Order& own, Element element) {
  std::optional<Part> sum;
  for (std::vector<Term> group : order.groups) {
    const bool is_subtracted = sum && std::all_of(group.begin(), group.end(), [](const Term& t) { return t.coefficient.is_negative(); });
    if (is_subtracted)
      for (Term& t : group) t.coefficient = -t.coefficient;
    const Part x = value_as(exprs_.add_terms(group), own, element);
    sum = sum ? build_.binary(is_subtracted ? OpKind::sub_ : OpKind::add_, *sum, x, own) : x;
  }
  return *sum;
}

// Terms with few axes come first, so that the sum grows to the whole tile as late as possible.
Part TileValues::emit_terms(Expr e, std::span<const Term> terms, const Order& own) {
  struct Summand {
    Part part;
    Rational coefficient;
  };
  std::vector<Summand> all;
  // A difference from a maximum is 0 or less only if each product is rounded as it was when the maximum was chosen.
  const bool has_maximum = std::any_of(e->terms.begin(), e->terms.end(), [&](const Term& t) { return is_extreme(exprs_, t.value); });
  const auto summand = [&](const Part& x) { return has_maximum ? rounded(x) : x; };
  for (const Term& t : terms) {
    // A product beside a large coefficient may differ much from what was written; a product of multiples has a number of its own.
    const bool is_product = t.value->is(ExprKind::mul);
    const bool is_apart = is_product && (!fusion::is_moderate(t.coefficient) || (!has_maximum && sums_.has_multiples(t.value->factors)));
    const Rational sign = t.coefficient.is_negative() ? -1 : 1;
    if (const std::optional<Wide> number = constant_value(t.value))
      all.push_back({build_.constant(e->element, static_cast<double>(wide(t.coefficient) * *number)), 1});
    else if (is_apart)
      all.push_back({summand(value_as(exprs_.scale(magnitude(t.coefficient), t.value), own, e->element)), sign});
    else
      all.push_back({summand(value_as(t.value, own, e->element)), t.coefficient});
  }
  std::stable_sort(all.begin(), all.end(), [](const Summand& a, const Summand& b) {
    return std::pair(a.part.axes.size(), a.coefficient.is_negative()) < std::pair(b.part.axes.size(), b.coefficient.is_negative());
  });
  std::optional<Part> sum, subtracted;  // subtracted: the negative terms before the first positive one
  for (const Summand& s : all) {
    const Rational c = magnitude(s.coefficient);
    Part x = c.is_one() ? s.part : build_.binary(OpKind::mul_, s.part, build_.constant(e->element, c.to_double()), own);
    if (!is_power_of_two(c)) x = summand(x);
    if (!s.coefficient.is_negative())
      sum = sum ? build_.binary(OpKind::add_, *sum, x, own) : subtracted ? build_.binary(OpKind::sub_, x, *subtracted, own) : x;
    else if (sum)
      sum = build_.binary(OpKind::sub_, *sum, x, own);
    else
      subtracted = subtracted ? build_.binary(OpKind::add_, *subtracted, x, own) : x;
  }
  return sum ? *sum : build_.unary(OpKind::neg_, *subtracted);
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
