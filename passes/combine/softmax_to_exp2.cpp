// Reciprocals and exponentials of rows.
#include "passes/combine/softmax_to_exp2.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

// Below this many quotients of one divisor a reciprocal saves nothing.
constexpr int kLog2RowOfQuotients = 3;
constexpr double kLog2E = 1.4426950408889634;

ValueId before_reshapes(const Function& f, ValueId v) {
  while (const OpId reshape = f.defined_by(v, OpKind::reshape_)) v = f.operand(reshape, 0);
  return v;
}

/// The reduction that makes v, if it combines one tile by these kinds of op.
OpId reduction_by(const Function& f, ValueId v, std::initializer_list<OpKind> kinds) {
  const OpId reduce = f.defined_by(before_reshapes(f, v), OpKind::reduce_);
  if (!reduce || f.op(reduce).operands.size() != 1) return {};
  const OpId of = f.value(f.operand(f.terminator(f.region(reduce)), 0)).op;
  if (!of || std::find(kinds.begin(), kinds.end(), f.kind(of)) == kinds.end()) return {};
  const auto& args = f.block(f.region(reduce)).args;
  const ValueId l = f.operand(of, 0), r = f.operand(of, 1);
  return (l == args[0] && r == args[1]) || (l == args[1] && r == args[0]) ? reduce : OpId{};
}

/// Whether x is the greatest of a's elements along an axis, or greater still: then a - x is nowhere above 0.
struct Bound {
  enum { none, at_least_maximum, maximum } kind = none;
  std::int64_t axis = 0;
};
Bound bound_of(const Function& f, ValueId a, ValueId x) {
  if (const OpId other = f.defined_by(before_reshapes(f, x), OpKind::maximum_)) {
    const bool found = bound_of(f, a, f.operand(other, 0)).kind || bound_of(f, a, f.operand(other, 1)).kind;
    return {found ? Bound::at_least_maximum : Bound::none};
  }
  const OpId reduce = reduction_by(f, x, {OpKind::maximum_, OpKind::fmax_});
  if (!reduce || f.operand(reduce, 0) != a) return {};
  return {Bound::maximum, f.attr(reduce, ir::AttrName::axis)};
}

bool comes_from(const Function& f, ValueId v, ValueId source) {
  constexpr std::size_t kMost = 32;
  std::vector<ValueId> reached{v};
  for (std::size_t next = 0; next < reached.size() && next < kMost; ++next) {
    if (reached[next] == source) return true;
    if (const OpId id = f.value(reached[next]).op; id && ir::info(f.kind(id)).has(ir::kPure))
      reached.insert(reached.end(), f.op(id).operands.begin(), f.op(id).operands.end());
  }
  return false;
}

/// Whether errors of e count beside the largest of its row only: e is summed, multiplied in dots, rounded to 16 bits or fewer, or scaled by
/// what its row gave.
bool is_weight(const Function& f, ValueId e) {
  std::vector<ValueId> reached{e};
  for (std::size_t next = 0; next < reached.size(); ++next) {
    const ValueId v = reached[next];
    for (OpId user : f.value(v).users) {
      const ir::OpData& op = f.op(user);
      switch (op.kind) {
        case OpKind::dot_: continue;
        case OpKind::reduce_:
          if (reduction_by(f, op.results[0], {OpKind::add_})) continue;
          return false;
        case OpKind::cast_: {
          const ir::Type to = f.type(op.results[0]);
          if (to.is_float() && to.element_bytes() <= 2) continue;
          return false;
        }
        case OpKind::mul_:
        case OpKind::div_: {
          const ValueId other = op.operands[op.operands[0] == v ? 1 : 0];
          const OpId row = f.defined_by(other, OpKind::broadcast_);
          if (op.operands[0] != other && row && comes_from(f, f.operand(row, 0), e)) continue;
          return false;
        }
        case OpKind::select_:
          if (op.operands[0] == v) return false;
          [[fallthrough]];
        case OpKind::reshape_:
        case OpKind::permute_: reached.push_back(op.results[0]); continue;
        default: return false;
      }
    }
  }
  return true;
}

/// Whether all that comes of a difference is factors exp(difference) of other tiles.
bool scales_only(const Function& f, ValueId difference) {
  for (OpId exp : f.value(difference).users) {
    if (f.kind(exp) != OpKind::exp_) return false;
    std::vector<ValueId> reached{f.result(exp)};
    for (std::size_t next = 0; next < reached.size(); ++next)
      for (OpId user : f.value(reached[next]).users) {
        if (f.kind(user) == OpKind::reshape_ || f.kind(user) == OpKind::broadcast_)
          reached.push_back(f.result(user));
        else if (f.kind(user) != OpKind::mul_ && (f.kind(user) != OpKind::fma_ || f.operand(user, 2) == reached[next]))
          return false;
      }
  }
  return true;
}

}  // namespace

ValueId SoftmaxToExp2::is_moderate(ValueId row) {
  const ValueId limit = number(f_.type(row), 0x1p30);
  return rw_.binary(OpKind::lt_, rw_.unary(OpKind::abs_, row), limit);
}

// exp(a - b) -> exp2(fma(a, log2(e), -(b log2(e)))): what an element costs is one fma and the instruction. b log2(e) is rounded, which
// scales all of a row alike. Of a bound above the maximum that is no running one, or where the difference has other uses,
// exp2((a - b) log2(e)).
ValueId SoftmaxToExp2::exp_below_maximum(OpId id) {
  const ValueId difference = f_.operand(id, 0);
  const ir::Type t = f_.type(difference);
  const OpId sub = f_.defined_by(difference, OpKind::sub_);
  if (!context_.target.is_gpu() || t.element() != ir::Element::f32 || !sub) return {};
  const ValueId a = f_.operand(sub, 0);
  const OpId broadcast = f_.defined_by(f_.operand(sub, 1), OpKind::broadcast_);
  const Bound bound = broadcast ? bound_of(f_, a, f_.operand(broadcast, 0)) : Bound{};
  if (bound.kind == Bound::none || !is_weight(f_, f_.result(id))) return {};
  const bool runs = bound.kind == Bound::at_least_maximum && carried_before(before_reshapes(f_, f_.operand(broadcast, 0)));
  ValueId e;
  if ((bound.kind == Bound::at_least_maximum && !runs) || f_.value(difference).users.size() > 1 || !context_.contract) {
    e = rw_.unary(OpKind::exp2_, rw_.binary(OpKind::mul_, difference, number(t, kLog2E)));
  } else {
    // From 2^30 on differences are 0 or -64 and less, which give 1 and as good as 0 in base 2 too: then nothing is rounded, and the
    // product does not overflow. (Masks are often the least finite number.)
    const ValueId b = f_.operand(broadcast, 0);
    const ir::Type row = f_.type(b);
    const Scaled scores = take_factor(a, id);
    const ValueId moderate = is_moderate(b);
    ValueId scale = rw_.select(moderate, number(row, kLog2E), number(row, 1));
    const ValueId offset = rw_.unary(OpKind::neg_, rw_.binary(OpKind::mul_, b, scale));
    if (scores.factor) scale = rw_.binary(OpKind::mul_, scale, of_shape(scores.factor, row));
    const std::vector<std::int64_t> shape = t.shape();
    const ValueId each = rw_.broadcast(scale, shape), less = rw_.broadcast(offset, shape);
    e = rw_.unary(OpKind::exp2_, rw_.ternary(OpKind::fma_, scores.tile, each, less));
  }
  if (bound.kind == Bound::maximum) weights_[e.index] = bound.axis;
  return e;
}

/// Of b = maximum(old, the greatest of a tile's rows), which a loop carries on as old: old, if exponentials of differences from b are all
/// that comes of both within the loop. None: it is no such maximum.
ValueId SoftmaxToExp2::carried_before(ValueId b) {
  const auto [at, is_new] = running_.try_emplace(b.index);
  const OpId maximum = f_.defined_by(b, OpKind::maximum_);
  if (!is_new || !maximum || !context_.contract) return at->second;
  const ir::BlockId body = f_.op(maximum).parent;
  const OpId loop = f_.block(body).parent, end = f_.terminator(body);
  if (!loop || f_.kind(loop) != OpKind::for_) return {};
  const auto is_carried = [&](ValueId v) {
    return !f_.value(v).op && f_.value(v).block == body && f_.value(v).number > 0 &&
           f_.operand(end, static_cast<int>(f_.value(v).number) - 1) == b;
  };
  ValueId old;
  for (ValueId v : f_.op(maximum).operands)
    if (is_carried(v)) old = v;
  if (!old) return {};
  const auto is_step = [&](OpId user) { return f_.kind(user) == OpKind::sub_ && f_.operand(user, 0) == old && f_.operand(user, 1) == b; };
  for (OpId user : f_.value(old).users)
    if (user != maximum && !(is_step(user) && scales_only(f_, f_.result(user)))) return {};
  std::vector<ValueId> reached{b};
  for (std::size_t next = 0; next < reached.size(); ++next)
    for (OpId user : f_.value(reached[next]).users) {
      if (user == end || is_step(user)) continue;
      if (f_.kind(user) == OpKind::reshape_ || f_.kind(user) == OpKind::broadcast_) {
        reached.push_back(f_.result(user));
      } else if (f_.kind(user) != OpKind::sub_ || f_.operand(user, 1) != reached[next] || !bound_of(f_, f_.operand(user, 0), b).kind ||
                 f_.value(f_.result(user)).users.size() != 1 || f_.kind(f_.value(f_.result(user)).users[0]) != OpKind::exp_ ||
                 !is_weight(f_, f_.result(f_.value(f_.result(user)).users[0]))) {
        return {};
      }
    }
  return at->second = old;
}

// exp(old - b) -> exp2(old log2(e) - b log2(e)), each rounded as where elements are taken relative to them, so that what was rounded off
// goes with them. If one of both is large, exp2((old - b) log2(e)).
ValueId SoftmaxToExp2::exp_of_step(OpId id) {
  const ValueId difference = f_.operand(id, 0);
  const ir::Type t = f_.type(difference);
  const OpId sub = f_.defined_by(difference, OpKind::sub_);
  if (!context_.target.is_gpu() || t.element() != ir::Element::f32 || !sub) return {};
  const ValueId old = f_.operand(sub, 0), b = f_.operand(sub, 1);
  if (carried_before(b) != old) return {};
  const ValueId scale = number(t, kLog2E);
  const ValueId scaled_old = rw_.binary(OpKind::mul_, old, scale), scaled = rw_.binary(OpKind::mul_, b, scale);
  const ValueId near = rw_.binary(OpKind::sub_, scaled_old, scaled), far = rw_.binary(OpKind::mul_, difference, scale);
  const ValueId old_is_moderate = is_moderate(old), new_is_moderate = is_moderate(b);
  return rw_.unary(OpKind::exp2_, rw_.select(rw_.binary(OpKind::bit_and_, old_is_moderate, new_is_moderate), near, far));
}

ValueId SoftmaxToExp2::quotient(OpId id) {
  const ValueId fast = multiply_by_reciprocal(id);
  return fast ? fast : share_reciprocal(id);
}

// fast: x / c -> x * (1 / c), x / broadcast(s) -> x * broadcast(1 / s), within 1.5 ulp while 1 / s is a normal number.
ValueId SoftmaxToExp2::multiply_by_reciprocal(OpId id) {
  const ir::Type t = f_.type(f_.result(id));
  const ValueId divisor = f_.operand(id, 1);
  if (t.element() != ir::Element::f32 || !f_.attr(id, ir::AttrName::fast)) return {};
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
// 1 but where 1 / s would overflow or be subnormal; it is chosen once for each s, and not needed for the sum of a softmax.
ValueId SoftmaxToExp2::share_reciprocal(OpId id) {
  const ir::Type t = f_.type(f_.result(id));
  const OpId broadcast = f_.defined_by(f_.operand(id, 1), OpKind::broadcast_);
  if (!broadcast || t.element() != ir::Element::f32 || t.is_pointer()) return {};
  const ValueId s = f_.operand(broadcast, 0);
  const ir::Type small = f_.type(s);
  if (t.log2_elements() - small.log2_elements() < kLog2RowOfQuotients || f_.constant_bits(s)) return {};
  if (is_sum_of_weights(s)) return rw_.binary(OpKind::mul_, f_.operand(id, 0), rw_.broadcast(reciprocal(s, true), t.shape()));
  const ValueId size = rw_.unary(OpKind::abs_, s);
  const ValueId large = rw_.binary(OpKind::gt_, size, number(small, 0x1p126)),
                tiny = rw_.binary(OpKind::lt_, size, number(small, 0x1p-126));
  const ValueId c = rw_.select(large, number(small, 0x1p-2), rw_.select(tiny, number(small, 0x1p24), number(small, 1)));
  const ValueId r = reciprocal(rw_.binary(OpKind::mul_, s, c), false);
  const ValueId x = rw_.binary(OpKind::mul_, f_.operand(id, 0), rw_.broadcast(c, t.shape()));
  return rw_.binary(OpKind::mul_, x, rw_.broadcast(r, t.shape()));
}

/// Whether s is between 2^-93 and 2^127, or NaN: one of what it adds up is about 1, and none is much more.
bool SoftmaxToExp2::is_sum_of_weights(ValueId s) const {
  const OpId sum = reduction_by(f_, s, {OpKind::add_});
  if (!sum) return false;
  const auto weights = weights_.find(f_.operand(sum, 0).index);
  return weights != weights_.end() && weights->second == f_.attr(sum, ir::AttrName::axis);
}

// A GPU's own 1 / s may be wrong by an ulp, which a Newton step takes away.
ValueId SoftmaxToExp2::reciprocal(ValueId s, bool is_ordinary) {
  const ir::Type t = f_.type(s);
  const ValueId one = number(t, 1);
  if (!context_.target.is_gpu()) return rw_.binary(OpKind::div_, one, s);
  const ValueId operands[] = {one, s};
  std::vector<ir::Attr> attrs;
  if (is_ordinary) attrs.push_back({ir::AttrName::fast, 1});
  const ValueId r = f_.result(rw_.create(OpKind::div_, operands, std::move(attrs)));
  const ValueId rest = rw_.ternary(OpKind::fma_, rw_.unary(OpKind::neg_, s), r, one);
  const ValueId better = rw_.ternary(OpKind::fma_, rest, r, r);
  // Of 0 and infinity nothing is left to correct but 0 times infinity.
  return is_ordinary ? better : rw_.select(rw_.unary(OpKind::isnan_, rest), r, better);
}

}  // namespace tilewright::passes
