// Patterns that may change rounding: a * b + c into fma, sums with a dot into its accumulator, one reciprocal for a row of quotients
// and for fast ones; on GPUs the exponentials of a softmax, and 1 / sqrt(x).
//
// Input, output: any IR. Numerics change: fewer roundings where PassContext::contract allows it, f32 quotients within the 2 ulp that `/`
// promises (div_rn stays exact), and exp of differences from a maximum as ACCURACY.md says; integers never do.
// See tests/files/passes/combine/.
#include <cmath>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace tilewright::passes {

using ir::Function;
using ir::OpId;
using ir::OpKind;
using ir::ValueId;

namespace {

bool may_contract(ir::Type t, const PassContext& context) {
  if (!context.contract || !context.target.has_fma || !t.is_float()) return false;
  if (t.element() == ir::Element::f32 || t.element() == ir::Element::f64) return true;
  return context.target.kind == ir::TargetDesc::Kind::nvptx;  // a host has no 16-bit fma: one in software costs more than it saves
}

/// The op that defines `v`, if it is of kind `k`, in the same block, and nobody else uses it: merging it duplicates and moves nothing.
OpId sole_use_of(const Function& f, ValueId v, OpKind k, OpId user) {
  const OpId id = f.defined_by(v, k);
  return id && f.value(v).users.size() == 1 && f.op(id).parent == f.op(user).parent ? id : OpId{};
}

ValueId fuse_multiply(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  if (!may_contract(f.type(f.result(id)), context)) return {};
  const bool is_sub = f.kind(id) == OpKind::sub_;
  const ValueId a = f.operand(id, 0), b = f.operand(id, 1);
  if (const OpId mul = sole_use_of(f, a, OpKind::mul_, id)) {
    // x * y + z -> fma(x, y, z), x * y - z -> fma(x, y, -z)
    return rw.ternary(OpKind::fma_, f.operand(mul, 0), f.operand(mul, 1), is_sub ? rw.unary(OpKind::neg_, b) : b);
  }
  if (const OpId mul = sole_use_of(f, b, OpKind::mul_, id)) {
    // z + x * y -> fma(x, y, z), z - x * y -> fma(-x, y, z)
    const ValueId x = f.operand(mul, 0);
    return rw.ternary(OpKind::fma_, is_sub ? rw.unary(OpKind::neg_, x) : x, f.operand(mul, 1), a);
  }
  return {};
}

ValueId accumulate_in_dot(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  const ir::Type t = f.type(f.result(id));
  if (f.kind(id) != OpKind::add_ || (t.is_float() && !context.contract)) return {};
  for (int i = 0; i < 2; ++i) {
    const OpId dot = sole_use_of(f, f.operand(id, i), OpKind::dot_, id);
    if (!dot || f.constant_bits(f.operand(dot, 2)) != 0u) continue;
    // dot(a, b, 0) + c -> dot(a, b, c); with another dot as c, one accumulates onto the other
    const ValueId operands[] = {f.operand(dot, 0), f.operand(dot, 1), f.operand(id, 1 - i)};
    return f.result(rw.create(OpKind::dot_, operands, f.op(dot).attrs));
  }
  return {};
}

// Below this many quotients of one divisor a reciprocal saves nothing.
constexpr int kLog2RowOfQuotients = 3;

/// fast: x / c -> x * (1 / c), x / broadcast(s) -> x * broadcast(1 / s), f32, within 1.5 ulp while 1 / s is a normal number.
ValueId multiply_by_reciprocal(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ir::Type t = f.type(f.result(id));
  const ValueId divisor = f.operand(id, 1);
  if (t.element() != ir::Element::f32 || !f.attr(id, ir::AttrName::fast)) return {};
  if (const auto bits = f.constant_bits(divisor)) {
    const double c = ir::float_value(t.element(), *bits), size = std::fabs(c);
    return size >= 0x1p-126 && size <= 0x1p126 ? rw.binary(OpKind::mul_, f.operand(id, 0), rw.constant_float(t, 1 / c)) : ValueId{};
  }
  const OpId broadcast = f.defined_by(divisor, OpKind::broadcast_);
  if (!broadcast) return {};
  const ValueId s = f.operand(broadcast, 0);
  const ValueId r = rw.binary(OpKind::div_, rw.constant(f.type(s), 1), s);
  return rw.binary(OpKind::mul_, f.operand(id, 0), rw.broadcast(r, t.shape()));
}

/// x / broadcast(s) -> (x * c) * broadcast(1 / (s * c)), f32, within 1.5 ulp: a vector division costs ten multiplications.
/// c is a power of two, 1 but where 1 / s would overflow or be subnormal; it is chosen once for each s.
ValueId share_reciprocal(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  const ir::Type t = f.type(f.result(id));
  const OpId broadcast = f.defined_by(f.operand(id, 1), OpKind::broadcast_);
  if (!broadcast || t.element() != ir::Element::f32 || t.is_pointer()) return {};
  const ValueId s = f.operand(broadcast, 0);
  const ir::Type small = f.type(s);
  if (t.log2_elements() - small.log2_elements() < kLog2RowOfQuotients || f.constant_bits(s)) return {};
  const auto number = [&](double v) { return rw.constant_float(small, v); };
  const ValueId size = rw.unary(OpKind::abs_, s);
  const ValueId large = rw.binary(OpKind::gt_, size, number(0x1p126)), tiny = rw.binary(OpKind::lt_, size, number(0x1p-126));
  const ValueId c = rw.select(large, number(0x1p-2), rw.select(tiny, number(0x1p24), number(1)));
  // A GPU's own `/` would add its 2 ulp to the product's rounding.
  const OpKind division = context.target.is_gpu() ? OpKind::div_rn_ : OpKind::div_;
  const ValueId r = rw.binary(division, number(1), rw.binary(OpKind::mul_, s, c));
  const ValueId x = rw.binary(OpKind::mul_, f.operand(id, 0), rw.broadcast(c, t.shape()));
  return rw.binary(OpKind::mul_, x, rw.broadcast(r, t.shape()));
}

/// Whether x is the greatest of a's elements along an axis, or greater still: then a - x is nowhere above 0.
enum class Bound { none, at_least_maximum, maximum };
Bound bound_of(const Function& f, ValueId a, ValueId x) {
  while (const OpId reshape = f.defined_by(x, OpKind::reshape_)) x = f.operand(reshape, 0);
  if (const OpId other = f.defined_by(x, OpKind::maximum_)) {
    const bool found = bound_of(f, a, f.operand(other, 0)) != Bound::none || bound_of(f, a, f.operand(other, 1)) != Bound::none;
    return found ? Bound::at_least_maximum : Bound::none;
  }
  const OpId reduce = f.defined_by(x, OpKind::reduce_);
  if (!reduce || f.op(reduce).operands.size() != 1 || f.operand(reduce, 0) != a) return Bound::none;
  const OpId yield = f.terminator(f.region(reduce));
  const OpId of = f.value(f.operand(yield, 0)).op;
  if (!of || (f.kind(of) != OpKind::maximum_ && f.kind(of) != OpKind::fmax_)) return Bound::none;
  const auto& args = f.block(f.region(reduce)).args;
  const ValueId l = f.operand(of, 0), r = f.operand(of, 1);
  return (l == args[0] && r == args[1]) || (l == args[1] && r == args[0]) ? Bound::maximum : Bound::none;
}

/// GPU: exp(a - b), f32, b the maximum of a's row -> exp2(fma(a, log2(e), -(b log2(e)))): what an element costs is one fma and the
/// instruction. Of a bound above the maximum, or where the difference has other uses, exp2((a - b) log2(e)).
ValueId exp_below_maximum(Rewriter& rw, OpId id, const PassContext& context) {
  constexpr double kLog2E = 1.4426950408889634;
  const Function& f = rw.ir();
  const ValueId difference = f.operand(id, 0);
  const ir::Type t = f.type(difference);
  const OpId sub = f.defined_by(difference, OpKind::sub_);
  if (!context.target.is_gpu() || t.element() != ir::Element::f32 || !sub) return {};
  const ValueId a = f.operand(sub, 0);
  const OpId broadcast = f.defined_by(f.operand(sub, 1), OpKind::broadcast_);
  const Bound bound = broadcast ? bound_of(f, a, f.operand(broadcast, 0)) : Bound::none;
  if (bound == Bound::none) return {};
  if (bound == Bound::at_least_maximum || f.value(difference).users.size() > 1 || !context.contract)
    return rw.unary(OpKind::exp2_, rw.binary(OpKind::mul_, difference, rw.constant_float(t, kLog2E)));
  // From 2^30 on differences are 0 or -64 and less, which give 1 and as good as 0 in base 2 too: then nothing is rounded, and the product
  // does not overflow. (Masks are often the least finite number.)
  const ValueId b = f.operand(broadcast, 0);
  const ir::Type row = f.type(b);
  const ValueId moderate = rw.binary(OpKind::lt_, rw.unary(OpKind::abs_, b), rw.constant_float(row, 0x1p30));
  const ValueId scale = rw.select(moderate, rw.constant_float(row, kLog2E), rw.constant_float(row, 1));
  const ValueId offset = rw.unary(OpKind::neg_, rw.binary(OpKind::mul_, b, scale));
  const std::vector<std::int64_t> shape = t.shape();
  return rw.unary(OpKind::exp2_, rw.ternary(OpKind::fma_, a, rw.broadcast(scale, shape), rw.broadcast(offset, shape)));
}

/// GPU: 1 / sqrt(x) -> rsqrt(x), f32: the instruction is as precise as the two operations together.
ValueId reciprocal_square_root(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  const ir::Type t = f.type(f.result(id));
  const OpId root = f.defined_by(f.operand(id, 1), OpKind::sqrt_);
  if (!context.target.is_gpu() || t.element() != ir::Element::f32 || !root) return {};
  const auto dividend = f.constant_bits(f.operand(id, 0));
  return dividend && ir::float_value(t.element(), *dividend) == 1 ? rw.unary(OpKind::rsqrt_, f.operand(root, 0)) : ValueId{};
}

}  // namespace

bool combine(Function& f, const PassContext& context) {
  Rewriter rw(f);
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    ValueId v;
    rw.at(id);
    if (k == OpKind::exp_) v = exp_below_maximum(rw, id, context);
    if (k == OpKind::div_) v = reciprocal_square_root(rw, id, context);
    if (k == OpKind::div_ && !v) v = multiply_by_reciprocal(rw, id);
    if (k == OpKind::div_ && !v) v = share_reciprocal(rw, id, context);
    if (k == OpKind::add_ || k == OpKind::sub_) {
      v = accumulate_in_dot(rw, id, context);
      if (!v) v = fuse_multiply(rw, id, context);
    }
    if (!v) return;
    const std::vector<ValueId> operands = f.op(id).operands;
    rw.replace(id, v);
    for (ValueId x : operands)  // the product, the dot, the difference or the root that is now part of the new op
      if (const OpId left = f.value(x).op; left && !f.has_uses(x) && ir::info(f.kind(left)).has(ir::kPure)) rw.erase(left);
  });
  return rw.changed();
}

}  // namespace tilewright::passes
