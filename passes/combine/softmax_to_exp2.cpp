// Softmax to exp2. b is the maximum of a row, or a running maximum; exp(x) = exp2(x log2(e)):
//
//   exp(a - b)   -> exp2(fma(a, log2(e), -(b log2(e))))      an element costs one fma and the exp2 instruction
//   exp(old - b) -> exp2(old log2(e) - b log2(e))            rounded in the same way, so that the rounding errors cancel
//
// Rounding b log2(e) scales a whole row by one factor, which cancels when the row is divided by its sum. If it does not cancel, as in a sum
// that is stored, the difference is multiplied by log2(e) instead.
#include "passes/combine/softmax_to_exp2.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "passes/combine/reductions.h"
#include "passes/combine/row_factor.h"
#include "passes/rounded_exponents.h"
#include "tileir/op_kind.h"
#include "tileir/slices.h"

namespace tilewright::passes {

namespace {

// kMostRoundedExponent for scores whose factor is moved out: b and the factor are rounded too, and exponents change by at most 9.
constexpr double kMostScaledExponent = 0x1p25;

/// Whether x is the maximum of a's elements along an axis, or an upper bound of them, so that a - x is never above 0.
struct Bound {
  enum { none, at_least_maximum, maximum } kind = none;
  std::int64_t axis = 0;
};
Bound bound_of(const Function& f, ValueId a, ValueId x) {
  // The reference is 0 instead of -infinity if all elements are -infinity.
  if (const ValueId maximum = maximum_of_reference(f, x); maximum != before_reshapes(f, x))
    return {bound_of(f, a, maximum).kind ? Bound::at_least_maximum : Bound::none};
  if (const OpId other = f.defined_by(before_reshapes(f, x), OpKind::maximum_)) {
    const bool found = bound_of(f, a, f.operand(other, 0)).kind || bound_of(f, a, f.operand(other, 1)).kind;
    return {found ? Bound::at_least_maximum : Bound::none};
  }
  const OpId reduce = reduction_by(f, x, {OpKind::maximum_, OpKind::fmax_});
  if (!reduce || f.operand(reduce, 0) != a) return {};
  return {Bound::maximum, f.attr(reduce, AttrName::axis)};
}

bool is_computed_from(const Function& f, ValueId v, OpId source) {
  constexpr std::size_t kMaxOps = 32;
  const auto slice = backward_slice(f, std::span(&v, 1), [&](OpId id) { return ir::info(f.kind(id)).has(ir::kPure); }, kMaxOps);
  return std::find(slice.begin(), slice.end(), source) != slice.end();
}

/// Whether only errors relative to the largest exponential of a row matter: the exponentials are summed, multiplied in dots, rounded to 16
/// bits or fewer, or scaled by a value computed from their row.
bool are_weights(const Function& f, OpId exponential) {
  return forward_uses(f, f.result(exponential), [&](OpId user, ValueId v) {
    const ir::OpData& op = f.op(user);
    const auto accept = [](bool is_accepted) { return is_accepted ? ir::WalkResult::skip : ir::WalkResult::interrupt; };
    switch (op.kind) {
      case OpKind::dot_: return ir::WalkResult::skip;
      case OpKind::reduce_: return accept(reduction_by(f, op.results[0], {OpKind::add_}).valid());
      case OpKind::cast_: {
        const Type to = f.type(op.results[0]);
        return accept(to.is_float() && to.element_bytes() <= 2);
      }
      case OpKind::mul_:
      case OpKind::div_: {
        const ValueId other = op.operands[op.operands[0] == v ? 1 : 0];
        const OpId row = f.defined_by(other, OpKind::broadcast_);
        return accept(op.operands[0] != other && row && is_computed_from(f, f.operand(row, 0), exponential));
      }
      case OpKind::select_: return op.operands[0] == v ? ir::WalkResult::interrupt : ir::WalkResult::advance;
      case OpKind::reshape_:
      case OpKind::permute_: return ir::WalkResult::advance;
      default: return ir::WalkResult::interrupt;
    }
  });
}

/// Whether a difference is used only by exp ops, and their results only as factors of other tiles. Reshapes may be between them.
bool is_only_rescale(const Function& f, ValueId difference) {
  return forward_uses(f, difference, [&](OpId user, ValueId used) {
    const OpKind k = f.kind(user);
    if (k == OpKind::reshape_) return ir::WalkResult::advance;
    if (before_reshapes(f, used) == difference) return k == OpKind::exp_ ? ir::WalkResult::advance : ir::WalkResult::interrupt;
    if (k == OpKind::broadcast_) return ir::WalkResult::advance;
    const bool is_factor = k == OpKind::mul_ || (k == OpKind::fma_ && f.operand(user, 2) != used);
    return is_factor ? ir::WalkResult::skip : ir::WalkResult::interrupt;
  });
}

}  // namespace

bool SoftmaxToExp2::is_factor_hidden(ValueId reference) {
  const auto [at, is_new] = hidden_.try_emplace(origin_of_maximum(f_, reference));
  if (is_new) at->second = is_row_factor_hidden(f_, reference);
  return at->second;
}

ValueId SoftmaxToExp2::is_moderate(ValueId row, bool is_scaled) {
  const ValueId limit = number(f_.type(row), is_scaled ? kMostScaledExponent : kMostRoundedExponent);
  return rw_.binary(OpKind::lt_, rw_.unary(OpKind::abs_, row), limit);
}

// The power of two 2^k in (x, 2x] for x > 0: the exponent field of x plus one, without the fraction.
ValueId SoftmaxToExp2::power_of_two_above(ValueId x) {
  const Type t = f_.type(x), bits = Type(Element::i32);
  const ValueId all = rw_.bitcast(x, bits), mask = rw_.constant(bits, 0x7f800000);
  const ValueId below = rw_.bitcast(rw_.binary(OpKind::bit_and_, all, mask), t);
  return rw_.binary(OpKind::mul_, below, number(t, 2));
}

// Beyond the limit the scale is a power of two, so that nothing is rounded and the maximum gets a weight of exactly 1. Different scores
// are at least 8 apart there (with a factor, they are rounded to multiples of 4), so scores below the maximum have a weight of almost
// 0.
SoftmaxToExp2::Exponents SoftmaxToExp2::exponents(const Scores& scores, ValueId b) {
  const Type row = f_.type(b);
  const ValueId is_near = is_moderate(b, scores.factor.valid()), log2_e = number(row, std::numbers::log2e);
  if (!scores.factor) {
    // Masks may be as low as the least finite number, a multiple of which would overflow.
    const ValueId size = rw_.unary(OpKind::abs_, b), limit = number(row, 0x1p64), one = number(row, 1), two = number(row, 2);
    const ValueId far = rw_.select(rw_.binary(OpKind::lt_, size, limit), two, one);
    const ValueId scale = rw_.select(is_near, log2_e, far);
    return {scale, rw_.unary(OpKind::neg_, rw_.binary(OpKind::mul_, b, scale))};
  }
  const ValueId near_offset = rw_.unary(OpKind::neg_, rw_.binary(OpKind::mul_, b, log2_e));
  const ValueId factor = rw_.binary(OpKind::mul_, scores.factor, number(f_.type(scores.factor), std::numbers::log2e));
  const ValueId near_scale = of_shape(factor, row), far_scale = of_shape(power_of_two_above(factor), row);
  const ValueId maximum = rw_.reshape(scores.maximum, row.shape()), scaled = rw_.reshape(scores.scaled_maximum, row.shape());
  // The reference may be above the maximum of these scores; it may be infinite if none of them counts. Then the sum is meaningless and any
  // number is correct, but -infinity must remain -infinity.
  const ValueId below = rw_.binary(OpKind::sub_, scaled, b), two = number(row, 2), zero_point = rw_.unary(OpKind::neg_, maximum);
  const ValueId sum = rw_.ternary(OpKind::fma_, zero_point, far_scale, rw_.binary(OpKind::mul_, below, two));
  const ValueId far_offset = rw_.binary(OpKind::fmin_, sum, number(row, 0x1.fffffep127));
  const ValueId scale = rw_.select(is_near, near_scale, far_scale);
  return {scale, rw_.select(is_near, near_offset, far_offset)};
}

// exp(a - b) -> exp2(fma(a, log2(e), -(b log2(e)))). It becomes exp2((a - b) log2(e)) instead if b is an upper bound but not a running
// maximum, or if the difference has other uses, or if the factor of the rounded product does not cancel.
ValueId SoftmaxToExp2::exp_below_maximum(OpId id) {
  const ValueId difference = f_.operand(id, 0);
  const Type t = f_.type(difference);
  const OpId sub = f_.defined_by(difference, OpKind::sub_);
  if (!context_.target.is_gpu() || t.element() != Element::f32 || !sub) return {};
  const ValueId a = f_.operand(sub, 0);
  const OpId broadcast = f_.defined_by(f_.operand(sub, 1), OpKind::broadcast_);
  const Bound bound = broadcast ? bound_of(f_, a, f_.operand(broadcast, 0)) : Bound{};
  if (bound.kind == Bound::none || !are_weights(f_, id)) return {};
  const Carried carried =
      bound.kind == Bound::at_least_maximum ? carried_maximum(before_reshapes(f_, f_.operand(broadcast, 0))) : Carried{};
  const bool is_rounded = carried.old || (bound.kind == Bound::maximum && is_factor_hidden(f_.operand(broadcast, 0)));
  ValueId e;
  if (!is_rounded || f_.value(difference).users.size() > 1 || !context_.contract) {
    e = rw_.unary(OpKind::exp2_, rw_.binary(OpKind::mul_, difference, number(t, std::numbers::log2e)));
  } else {
    const std::optional<Factor> factor = !carried.old || carried.is_scaled ? factor_of(a, id) : std::nullopt;
    const Scores scores = factor ? take_factor(*factor, id) : Scores{a, {}, {}, {}};
    const Exponents row = exponents(scores, f_.operand(broadcast, 0));
    const ValueId scales = rw_.broadcast(row.scale, t.shape()), offsets = rw_.broadcast(row.offset, t.shape());
    e = rw_.unary(OpKind::exp2_, rw_.ternary(OpKind::fma_, scores.tile, scales, offsets));
  }
  if (bound.kind == Bound::maximum) weights_[e.index] = bound.axis;
  return e;
}

SoftmaxToExp2::Carried SoftmaxToExp2::carried_maximum(ValueId b) {
  const auto [at, is_new] = carried_.try_emplace(b.index);
  const ValueId greatest = maximum_of_reference(f_, b);  // the value that the loop carries; b is 0 for rows without a score so far
  const OpId maximum = f_.defined_by(greatest, OpKind::maximum_);
  if (!is_new || !maximum || !context_.contract) return at->second;
  const BlockId body = f_.op(maximum).parent;
  const OpId loop = f_.block(body).parent, end = f_.terminator(body);
  if (!loop || f_.kind(loop) != OpKind::for_) return {};
  const auto is_carried = [&](ValueId v) {
    return !f_.value(v).op && f_.value(v).block == body && f_.value(v).number > 0 &&
           f_.operand(end, static_cast<int>(f_.value(v).number) - 1) == greatest;
  };
  ValueId old;
  for (ValueId v : f_.op(maximum).operands)
    if (is_carried(v)) old = v;
  if (!old) return {};
  const auto is_rescale = [&](OpId user) {
    return f_.kind(user) == OpKind::sub_ && f_.operand(user, 0) == old && f_.operand(user, 1) == b;
  };
  for (OpId user : f_.value(old).users)
    if (user != maximum && !(is_rescale(user) && is_only_rescale(f_, f_.result(user)))) return {};
  bool is_scaled = true;
  const bool only_differences = forward_uses(f_, greatest, [&](OpId user, ValueId used) {
    if (user == end || is_rescale(user)) return ir::WalkResult::skip;
    if (b != greatest && f_.kind(user) == OpKind::eq_) return ir::WalkResult::skip;  // the condition of the select whose result is b
    if (b != greatest && f_.kind(user) == OpKind::select_ && f_.result(user) == b) return ir::WalkResult::advance;
    if (f_.kind(user) == OpKind::reshape_ || f_.kind(user) == OpKind::broadcast_) return ir::WalkResult::advance;
    if (f_.kind(user) != OpKind::sub_ || f_.operand(user, 1) != used || !bound_of(f_, f_.operand(user, 0), b).kind)
      return ir::WalkResult::interrupt;
    const auto& differences = f_.value(f_.result(user)).users;
    const bool is_weight =
        differences.size() == 1 && f_.kind(differences[0]) == OpKind::exp_ && are_weights(f_, differences[0]) && is_factor_hidden(b);
    is_scaled = is_scaled && is_weight && factor_of(f_.operand(user, 0), differences[0]);
    return is_weight ? ir::WalkResult::skip : ir::WalkResult::interrupt;
  });
  return only_differences ? at->second = {old, is_scaled} : Carried{};
}

// exp(old - b) -> exp2(old log2(e) - b log2(e)); if one of the two is large, exp2((old - b) log2(e)). If only one is large, the latter
// ignores the rounding of the other, which is at most 2^8 times a factor below 2^-23: the two are at least 16 apart. (If a factor is moved
// out they are at least 4 apart, and their own rounding is half of that.)
ValueId SoftmaxToExp2::exp_of_rescale(OpId id) {
  const ValueId difference = before_reshapes(f_, f_.operand(id, 0));
  const Type t = f_.type(difference);
  const OpId sub = f_.defined_by(difference, OpKind::sub_);
  if (!context_.target.is_gpu() || t.element() != Element::f32 || !sub) return {};
  const ValueId old = f_.operand(sub, 0), b = f_.operand(sub, 1);
  const Carried carried = carried_maximum(b);
  if (!carried.old || carried.old != old) return {};
  const ValueId scale = number(t, std::numbers::log2e);
  // Both products are rounded: a difference of fma(x, y, 0) is not contracted.
  const ValueId zero = number(t, 0), scaled_old = rw_.ternary(OpKind::fma_, old, scale, zero),
                scaled = rw_.ternary(OpKind::fma_, b, scale, zero);
  const ValueId near = rw_.binary(OpKind::sub_, scaled_old, scaled), far = rw_.binary(OpKind::mul_, difference, scale);
  const ValueId old_is_moderate = is_moderate(old, carried.is_scaled), new_is_moderate = is_moderate(b, carried.is_scaled);
  const ValueId e = rw_.unary(OpKind::exp2_, rw_.select(rw_.binary(OpKind::bit_and_, old_is_moderate, new_is_moderate), near, far));
  return rw_.reshape(e, f_.type(f_.result(id)).shape());
}

bool SoftmaxToExp2::is_sum_of_weights(ValueId s) const {
  const OpId sum = reduction_by(f_, s, {OpKind::add_});
  if (!sum) return false;
  const auto weights = weights_.find(f_.operand(sum, 0).index);
  return weights != weights_.end() && weights->second == f_.attr(sum, AttrName::axis);
}

}  // namespace tilewright::passes
