// Computes the factors that move sums of exponentials from one reference to another, including the roundings that emit_exp has made.
#include <numbers>

#include "passes/fusion/emit/tile_values.h"
#include "passes/rounded_exponents.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

namespace {

using ir::Element;
using ir::OpKind;

}  // namespace

// exp(to - from), the change of an exponent as emit_exp rounds it. If the product became part of the subtraction, it would not be rounded,
// and each step of a loop would add an error; fma(x, y, 0) prevents that.
Part TileValues::exp_of_change(const Part& to, const Part& from, const Order& order) {
  const Part difference = binary(OpKind::sub_, rounded(to), rounded(from), order);
  if (!has_exp2_ || element(difference) != Element::f32) return unary(OpKind::exp_, difference);
  const Part unit = constant(Element::f32, std::numbers::log2e);
  const auto rounded = [&](const Part& x) { return ternary(OpKind::fma_, x, unit, constant(Element::f32, 0), x.axes); };
  const Part near = binary(OpKind::sub_, rounded(to), rounded(from), order);
  const Part is_near = binary(OpKind::bit_and_, is_moderate(to), is_moderate(from), order);
  return unary(OpKind::exp2_, select(is_near, near, binary(OpKind::mul_, difference, unit, order), order));
}

// emit_exp used round(from log2(e)) instead of from log2(e). A value that is not moderate was not rounded.
Part TileValues::exp_of_rounding(const Part& to, const Part& from, const Order& order) {
  const Part unit = constant(Element::f32, std::numbers::log2e);
  const Part rounded = binary(OpKind::mul_, from, unit, order);
  const Part change = ternary(OpKind::fma_, to, unit, unary(OpKind::neg_, rounded), order);
  return select(is_moderate(from), unary(OpKind::exp2_, change), constant(Element::f32, 1), order);
}

Part TileValues::is_moderate(const Part& x) { return is_below(x, kMostRoundedExponent); }
Part TileValues::is_below(const Part& x, double limit) {
  return binary(OpKind::lt_, unary(OpKind::abs_, x), constant(Element::f32, limit), x.axes);
}

}  // namespace tilewright::passes::fusion
