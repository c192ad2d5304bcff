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

// An exponent is computed as a power of two: each term is multiplied by log2(e). If the offset is not moderate (is_moderate), differences
// are 0 or at most -16, and the terms are multiplied by a power of two instead, which is exact. (That one is 1 for masks: they may be as
// low as the lowest finite number, whose multiples overflow.)
Part TileValues::exp_of_sum(Expr e, const Order& own) {
  const ExponentOrder order = sums_.exponent_order(e->operands[0], rounds_references(e->element));
  switch (order.kind) {
    case ExponentOrder::Kind::sum: return build_.unary(OpKind::exp_, value_as(e->operands[0], own, e->element));
    case ExponentOrder::Kind::below_maximum: {
      const Part x = rounded_multiple(order.x, own, e->element);
      Part exponent = build_.binary(OpKind::add_, x, rounded(value_as(order.offset, own, e->element)), own);
      if (order.others) exponent = build_.binary(OpKind::add_, exponent, value_as(order.others, own, e->element), own);
      return build_.unary(OpKind::exp_, exponent);
    }
    case ExponentOrder::Kind::power_of_two: break;
  }
  const Part offset = value_as(order.offset, own, Element::f32);
  const Part far = build_.select(is_below(offset, 0x1p64), build_.constant(Element::f32, 2), build_.constant(Element::f32, 1), own);
  const Part unit = build_.select(is_moderate(offset), build_.constant(Element::f32, std::numbers::log2e), far, own);
  const Part x = order.rounds_x ? rounded_multiple(order.x, own, Element::f32) : value_as(order.x.value, own, Element::f32);
  Part factor = unit;
  if (!order.rounds_x && !order.x.factor.is_one())
    factor = build_.binary(OpKind::mul_, unit, build_.constant(Element::f32, order.x.factor.to_double()), own);
  Part sum = build_.ternary(OpKind::fma_, x, factor, build_.binary(OpKind::mul_, offset, unit, own), own);
  if (order.others) {
    const Part others = value_as(order.others, own, Element::f32);
    sum = build_.ternary(OpKind::fma_, others, build_.constant(Element::f32, std::numbers::log2e), sum, own);
  }
  return build_.unary(OpKind::exp2_, sum);
}

// exp(to - from), the change of an exponent as exp_of_sum rounds it. If the product became part of the subtraction, it would not be rounded,
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

// exp_of_sum used round(from log2(e)) instead of from log2(e). A value that is not moderate was not rounded.
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
