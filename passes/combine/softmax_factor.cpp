// Moves the scalar factor of a softmax's scores, dot(q, k) s, out of the loop: the maximum is taken of the products without s, and s
// becomes part of the factor of the exponential.
//
//   a = dot(q, k) s, b = max(a)   ->   t = dot(+-q, k), b = max(t) |s|     exp(a - b) -> exp2(fma(t, |s| log2(e), -(b log2(e))))
//
// The sign of s is applied to q, which is computed before the loop: that changes no bit. Rounding is monotonic, so the maximum of the
// rounded products with a positive factor is the rounded product of the maximum: b does not change either.
#include <limits>

#include "passes/combine/softmax_to_exp2.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

bool is_minus_infinity(const Function& f, ValueId v) {
  const auto bits = f.constant_bits(v);
  return bits && ir::float_value(f.type(v).element(), *bits) == -std::numeric_limits<double>::infinity();
}

ValueId other_operand(const Function& f, OpId id, ValueId v) { return f.operand(id, f.operand(id, 0) == v ? 1 : 0); }

}  // namespace

std::optional<SoftmaxToExp2::Factor> SoftmaxToExp2::factor_of(ValueId a, OpId exponential) const {
  // Its only uses are one maximum and one difference.
  if (f_.value(a).users.size() != 2) return {};
  Factor found;
  for (OpId user : f_.value(a).users)
    if (f_.kind(user) == OpKind::reduce_) found.reduce = user;
  if (!found.reduce || f_.op(found.reduce).parent != f_.op(exponential).parent) return {};
  found.select = f_.defined_by(a, OpKind::select_);
  if (found.select && !is_minus_infinity(f_, f_.operand(found.select, 2))) return {};
  const ValueId product = found.select ? f_.operand(found.select, 1) : a;
  const OpId mul = f_.defined_by(product, OpKind::mul_);
  if (!mul || (found.select && f_.value(product).users.size() != 1)) return {};
  for (ValueId t : f_.op(mul).operands) {
    found.dot = f_.defined_by(t, OpKind::dot_);
    const OpId factor = f_.defined_by(other_operand(f_, mul, t), OpKind::broadcast_);
    if (!found.dot || !factor || !f_.type(f_.operand(factor, 0)).is_scalar() || f_.constant_bits(f_.operand(found.dot, 2)) != 0u) continue;
    found.scalar = f_.operand(factor, 0);
    const BlockId body = f_.op(found.dot).parent;
    if (f_.value(t).users.size() == 1 && f_.defining_block(f_.operand(found.dot, 0)) != body && f_.defining_block(found.scalar) != body)
      return found;
  }
  return {};
}

SoftmaxToExp2::Scores SoftmaxToExp2::take_factor(const Factor& taken, OpId exponential) {
  const ValueId q = f_.operand(taken.dot, 0), s = taken.scalar;
  rw_.at(taken.dot);
  const Type scalar = f_.type(s);
  const ValueId is_negative = rw_.binary(OpKind::lt_, s, number(scalar, 0));
  // With s = 0 every score is 0 unless masked. A factor of 2^-126 instead gives nearly the same, and preserves infinities.
  const ValueId least = number(scalar, 0x1p-126);
  const ValueId size = rw_.binary(OpKind::maximum_, rw_.unary(OpKind::abs_, s), least);
  const ValueId negate = rw_.broadcast(is_negative, f_.type(q).shape()), negative = rw_.unary(OpKind::neg_, q);
  const ValueId signed_q = rw_.select(negate, negative, q);
  const ValueId operands[] = {signed_q, f_.operand(taken.dot, 1), f_.operand(taken.dot, 2)};
  ValueId scores = f_.result(rw_.create(OpKind::dot_, operands, f_.op(taken.dot).attrs));
  if (taken.select) {
    rw_.at(taken.select);
    scores = rw_.select(f_.operand(taken.select, 0), scores, f_.operand(taken.select, 2));
  }
  rw_.set_operand(taken.reduce, 0, scores);
  rw_.at(f_.op(taken.reduce).next);
  const ValueId greatest = f_.result(taken.reduce);
  const std::vector<OpId> users = f_.value(greatest).users;
  const Type row = f_.type(greatest);
  const ValueId scaled = rw_.binary(OpKind::mul_, greatest, of_shape(size, row));
  for (OpId user : users)
    for (int i = 0; i < static_cast<int>(f_.op(user).operands.size()); ++i)
      if (f_.operand(user, i) == greatest) rw_.set_operand(user, i, scaled);
  rw_.at(exponential);
  return {scores, size, greatest, scaled};
}

}  // namespace tilewright::passes
