// Computes reciprocals of constants, of divisors of fast quotients, and of divisors that the quotients of a row share.
#include "passes/combine/reciprocals.h"

#include <cmath>
#include <vector>

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

// If fewer quotients share a divisor, its reciprocal saves nothing.
constexpr int kMinLog2Quotients = 3;

}  // namespace

ValueId ReciprocalReduction::quotient(OpId id) {
  const ValueId fast = multiply_by_reciprocal(id);
  return fast ? fast : share_reciprocal(id);
}

// fast: x / c -> x * (1 / c), x / broadcast(s) -> x * broadcast(1 / s); within 1.5 ulp while 1 / s is a normal number.
ValueId ReciprocalReduction::multiply_by_reciprocal(OpId id) {
  const Type t = f_.type(f_.result(id));
  const ValueId divisor = f_.operand(id, 1);
  if (t.element() != Element::f32 || !f_.attr(id, AttrName::fast)) return {};
  if (const auto bits = f_.constant_bits(divisor)) {
    const double c = ir::float_value(t.element(), *bits), size = std::fabs(c);
    return size >= 0x1p-126 && size <= 0x1p126 ? rw_.binary(OpKind::mul_, f_.operand(id, 0), number(t, 1 / c)) : ValueId{};
  }
  const OpId broadcast = f_.defined_by(divisor, OpKind::broadcast_);
  if (!broadcast) return {};
  const ValueId s = f_.operand(broadcast, 0);
  const ValueId r = rw_.binary(OpKind::div_, rw_.constant(f_.type(s), 1), s);
  return rw_.binary(OpKind::mul_, f_.operand(id, 0), rw_.broadcast(r, t.shape()));
}

// x / broadcast(s) -> (x * c) * broadcast(1 / (s * c)), within 1.5 ulp: a vector division costs ten multiplications. c is a power of two,
// and 1 unless 1 / s would overflow or be subnormal. The sum of a softmax needs no c.
ValueId ReciprocalReduction::share_reciprocal(OpId id) {
  const Type t = f_.type(f_.result(id));
  const OpId broadcast = f_.defined_by(f_.operand(id, 1), OpKind::broadcast_);
  if (!broadcast || t.element() != Element::f32 || t.is_pointer()) return {};
  const ValueId s = f_.operand(broadcast, 0);
  const Type small = f_.type(s);
  if (t.log2_elements() - small.log2_elements() < kMinLog2Quotients || f_.constant_bits(s)) return {};
  if (softmax_.is_sum_of_weights(s)) return rw_.binary(OpKind::mul_, f_.operand(id, 0), rw_.broadcast(reciprocal(s, true), t.shape()));
  const ValueId size = rw_.unary(OpKind::abs_, s);
  const ValueId large = rw_.binary(OpKind::gt_, size, number(small, 0x1p126)),
                tiny = rw_.binary(OpKind::lt_, size, number(small, 0x1p-126));
  const ValueId c = rw_.select(large, number(small, 0x1p-2), rw_.select(tiny, number(small, 0x1p24), number(small, 1)));
  const ValueId r = reciprocal(rw_.binary(OpKind::mul_, s, c), false);
  const ValueId x = rw_.binary(OpKind::mul_, f_.operand(id, 0), rw_.broadcast(c, t.shape()));
  return rw_.binary(OpKind::mul_, x, rw_.broadcast(r, t.shape()));
}

// A GPU's 1 / s may be wrong by one ulp; a Newton step corrects it.
ValueId ReciprocalReduction::reciprocal(ValueId s, bool is_normal) {
  const Type t = f_.type(s);
  const ValueId one = number(t, 1);
  if (!context_.target.is_gpu()) return rw_.binary(OpKind::div_, one, s);
  const ValueId operands[] = {one, s};
  std::vector<ir::Attr> attrs;
  if (is_normal) attrs.push_back({AttrName::fast, 1});
  const ValueId r = f_.result(rw_.create(OpKind::div_, operands, std::move(attrs)));
  const ValueId rest = rw_.ternary(OpKind::fma_, rw_.unary(OpKind::neg_, s), r, one);
  const ValueId better = rw_.ternary(OpKind::fma_, rest, r, r);
  // For 0 and infinity the remainder is 0 times infinity, which is NaN; their reciprocals need no correction.
  return is_normal ? better : rw_.select(rw_.unary(OpKind::isnan_, rest), r, better);
}

}  // namespace tilewright::passes
