// Emits exponentials of differences from references, and the factors that move sums of them from one reference to another.
#include <numbers>

#include "passes/fusion/emit/tile_values.h"
#include "passes/rounded_exponents.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

}  // namespace

// exp(x + reference) becomes exp2 of one multiply-add if exp2 is an instruction. The product with the reference is rounded, which
// multiplies all values that refer to it by one factor; exp_of_rounding removes it. Beyond is_moderate, where differences are 0 or at most
// -16, the unit is a power of two, which is exact. (Masks may be as low as the lowest finite number: a multiple of it would overflow.)
Part TileValues::exp_of_sum(Expr e, const Order& own) {
  Expr reference;
  std::vector<Term> rest;
  for (const Term& t : exprs_.terms(e->operands[0])) {
    if (!reference && t.value->is(ExprKind::reference) && t.coefficient.is_one())
      reference = t.value;
    else
      rest.push_back(t);
  }
  const std::optional<BelowMaximum> below = sums_.below_maximum(e->operands[0]);
  if (!rounds_references(e->element) || !reference || rest.empty()) {
    if (!below) return build_.unary(OpKind::exp_, value_as(e->operands[0], own, e->element));
    const Part x = rounded_multiple(below->x, own, e->element);
    Part exponent = build_.binary(OpKind::add_, x, rounded(value_as(below->offset, own, e->element)), own);
    if (below->others) exponent = build_.binary(OpKind::add_, exponent, value_as(below->others, own, e->element), own);
    return build_.unary(OpKind::exp_, exponent);
  }
  const Part offset = value_as(reference, own, Element::f32);
  const Part far = build_.select(is_below(offset, 0x1p64), build_.constant(Element::f32, 2), build_.constant(Element::f32, 1), own);
  const Part unit = build_.select(is_moderate(offset), build_.constant(Element::f32, std::numbers::log2e), far, own);
  // The reference has the same factor and is rounded: only with powers of two does a score that is its own reference stay at 0.
  const bool is_exact = below && below->offset == reference;
  if (is_exact) rest = {{below->x.factor, below->x.value}};
  const bool is_scaled = rest.size() == 1 && !constant_value(rest[0].value) && is_power_of_two(magnitude(rest[0].coefficient));
  const Part x = is_scaled  ? value_as(rest[0].value, own, Element::f32)
                 : is_exact ? rounded_multiple(below->x, own, Element::f32)
                            : value_as(exprs_.add_terms(rest), own, Element::f32);
  Part factor = unit;
  if (is_scaled && !rest[0].coefficient.is_one())
    factor = build_.binary(OpKind::mul_, unit, build_.constant(Element::f32, rest[0].coefficient.to_double()), own);
  Part sum = build_.ternary(OpKind::fma_, x, factor, build_.binary(OpKind::mul_, offset, unit, own), own);
  if (is_exact && below->others) {
    const Part others = value_as(below->others, own, Element::f32);
    sum = build_.ternary(OpKind::fma_, others, build_.constant(Element::f32, std::numbers::log2e), sum, own);
  }
  return build_.unary(OpKind::exp2_, sum);
}

// exp(to - from), the change of an exponent as emit_exp rounds it. If the product became part of the subtraction, it would not be rounded,
// and each step of a loop would add an error; fma(x, y, 0) prevents that.
Part TileValues::exp_of_change(const Part& to, const Part& from, const Order& order) {
  const Part difference = build_.binary(OpKind::sub_, rounded(to), rounded(from), order);
  if (!has_exp2_ || build_.element(difference) != Element::f32) return build_.unary(OpKind::exp_, difference);
  const Part unit = build_.constant(Element::f32, std::numbers::log2e);
  const auto rounded = [&](const Part& x) { return build_.ternary(OpKind::fma_, x, unit, build_.constant(Element::f32, 0), x.axes); };
  const Part near = build_.binary(OpKind::sub_, rounded(to), rounded(from), order);
  const Part is_near = build_.binary(OpKind::bit_and_, is_moderate(to), is_moderate(from), order);
  return build_.unary(OpKind::exp2_, build_.select(is_near, near, build_.binary(OpKind::mul_, difference, unit, order), order));
}

// emit_exp used round(from log2(e)) instead of from log2(e). A value that is not moderate was not rounded.
Part TileValues::exp_of_rounding(const Part& to, const Part& from, const Order& order) {
  const Part unit = build_.constant(Element::f32, std::numbers::log2e);
  const Part rounded = build_.binary(OpKind::mul_, from, unit, order);
  const Part change = build_.ternary(OpKind::fma_, to, unit, build_.unary(OpKind::neg_, rounded), order);
  return build_.select(is_moderate(from), build_.unary(OpKind::exp2_, change), build_.constant(Element::f32, 1), order);
}

Part TileValues::is_moderate(const Part& x) { return is_below(x, kMostRoundedExponent); }
Part TileValues::is_below(const Part& x, double limit) {
  return build_.binary(OpKind::lt_, build_.unary(OpKind::abs_, x), build_.constant(Element::f32, limit), x.axes);
}

}  // namespace tilewright::passes::fusion
