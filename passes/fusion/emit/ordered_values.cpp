// Emits sums and products in the order that sum_order.h decides.
#include <algorithm>
#include <optional>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/expr/magnitude.h"

namespace tilewright::passes::fusion {

using ir::Element;
using ir::OpKind;

Part TileValues::emit_written(const WrittenValue& written, const Order& own, Element element) {
  if (written.kind == WrittenValue::Kind::power) return power(written.left, written.exponent, own, element);
  const OpKind op = written.kind == WrittenValue::Kind::product    ? OpKind::mul_
                    : written.kind == WrittenValue::Kind::quotient ? OpKind::div_
                                                                   : OpKind::add_;
  const auto side = [&](Expr e) {
    const Part x = value_as(e, own, element);
    return op == OpKind::add_ && sums_.is_of_reductions(e) ? rounded(x) : x;
  };
  return build_.binary(op, side(written.left), side(written.right), own);
}

std::optional<Part> TileValues::emit_written_product(Expr e, const Order& own) {
  const std::optional<WrittenProduct> order = sums_.written_product(e);
  if (!order) return std::nullopt;
  const Element element = order->product->element;
  const Part product =
      order->written ? emit_written(*order->written, own, element) : build_.unary(OpKind::neg_, value_as(order->negative, own, element));
  if (order->conditions.empty()) return product;
  return build_.select(value(exprs_.conjunction(order->conditions), own), product, build_.constant(e->element, 0), own);
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
  return emit_terms(e, order, own);
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
    const Part reference = value_as(d.reference, own, element), near = d.rounds_values || is_change ? rounded(values) : values;
    const bool is_subtracted = d.kind == Difference::Kind::subtracted, is_swapped = is_subtracted && !sum && d.coefficient.is_negative();
    Part x = is_change || is_swapped ? build_.binary(OpKind::sub_, near, reference, own)
             : is_subtracted         ? build_.binary(OpKind::sub_, reference, near, own)
                                     : build_.binary(OpKind::add_, reference, near, own);
    const Rational c = sum || is_swapped ? magnitude(d.coefficient) : d.coefficient;
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
Part TileValues::emit_terms(Expr e, const SumOrder& order, const Order& own) {
  struct Summand {
    Part part;
    Rational coefficient;
    bool is_rounded = false;
  };
  std::vector<Summand> all;
  for (const Term& t : order.terms) {
    if (const std::optional<Wide> number = constant_value(t.value)) {
      all.push_back({build_.constant(e->element, static_cast<double>(wide(t.coefficient) * *number)), 1});
      continue;
    }
    const Term x = sums_.summand(t, order);
    const bool is_rounded = order.rounds_products || sums_.is_of_reductions(t.value);
    const Part value = value_as(x.value, own, e->element);
    all.push_back({is_rounded ? rounded(value) : value, x.coefficient, is_rounded});
  }
  std::stable_sort(all.begin(), all.end(), [](const Summand& a, const Summand& b) {
    return std::pair(a.part.axes.size(), a.coefficient.is_negative()) < std::pair(b.part.axes.size(), b.coefficient.is_negative());
  });
  std::optional<Part> sum, subtracted;  // subtracted: the negative terms before the first positive one
  for (const Summand& s : all) {
    const Rational c = magnitude(s.coefficient);
    Part x = c.is_one() ? s.part : build_.binary(OpKind::mul_, s.part, build_.constant(e->element, c.to_double()), own);
    if (s.is_rounded && !is_power_of_two(c)) x = rounded(x);
    if (!s.coefficient.is_negative())
      sum = sum ? build_.binary(OpKind::add_, *sum, x, own) : subtracted ? build_.binary(OpKind::sub_, x, *subtracted, own) : x;
    else if (sum)
      sum = build_.binary(OpKind::sub_, *sum, x, own);
    else
      subtracted = subtracted ? build_.binary(OpKind::add_, *subtracted, x, own) : x;
  }
  return sum ? *sum : build_.unary(OpKind::neg_, *subtracted);
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
  const auto zero = [&] { return build_.constant(build_.element(x), 0); };
  if (const ir::OpId negative = f.defined_by(x.value, OpKind::neg_))
    return build_.unary(OpKind::neg_, rounded({f.operand(negative, 0), x.axes}));
  if (f.defined_by(x.value, OpKind::div_)) return build_.binary(OpKind::add_, x, zero(), x.axes);
  const ir::OpId product = f.defined_by(x.value, OpKind::mul_);
  if (!product) {
    ir::ValueId source = x.value;
    while (const ir::OpId permute = f.defined_by(source, OpKind::permute_)) source = f.operand(permute, 0);
    const bool is_product = source != x.value && (f.defined_by(source, OpKind::mul_) || f.defined_by(source, OpKind::div_));
    return is_product ? build_.binary(OpKind::add_, x, zero(), x.axes) : x;
  }
  return build_.ternary(OpKind::fma_, {f.operand(product, 0), x.axes}, {f.operand(product, 1), x.axes}, zero(), x.axes);
}

}  // namespace tilewright::passes::fusion
