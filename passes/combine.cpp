// Rewrites patterns whose replacement may round differently: a * b + c to fma, the sum of a dot and a tile to a dot with that accumulator,
// quotients with a common divisor to products with its reciprocal; on GPUs exponentials of a softmax to exp2, 1 / sqrt(x) to rsqrt.
//
// Input, output: any IR. Numerics change: fewer roundings where PassContext::contract allows it (except in the difference of a
// product and what may be the product itself or the maximum of such products, which is exact near the maximum), f32 quotients within the 2 ulp that `/` guarantees
// (div_rn stays exact), and exp of differences from a maximum as ACCURACY.md says. Integers do not change. See
// tests/files/passes/combine/.
#include "passes/combine/chosen_products.h"
#include "passes/combine/reciprocals.h"
#include "passes/combine/softmax_to_exp2.h"
#include "tileir/op_kind.h"

namespace tilewright::passes {

namespace {

bool may_contract(Type t, const PassContext& context) {
  if (!context.contract || !context.target.has_fma || !t.is_float()) return false;
  if (t.element() == Element::f32 || t.element() == Element::f64) return true;
  return context.target.kind == ir::TargetDesc::Kind::nvptx;  // a host has no 16-bit fma, and one in software costs more than it saves
}

/// The op of kind `k` that defines `v`, if it is in the user's block: merging it moves no op out of or into a loop.
OpId definition_beside(const Function& f, ValueId v, OpKind k, OpId user) {
  const OpId id = f.defined_by(v, k);
  return id && f.op(id).parent == f.op(user).parent ? id : OpId{};
}
/// definition_beside, if the value also has no other use, so that merging the op duplicates nothing.
OpId sole_use_of(const Function& f, ValueId v, OpKind k, OpId user) {
  const OpId id = definition_beside(f, v, k, user);
  return id && f.value(v).users.size() == 1 ? id : OpId{};
}

// Other uses of the product do not count: two loops that compute one sum must give it the same bits, whatever else either of them does with
// the product. An fma for each sum takes no longer than the additions.
ValueId fuse_multiply(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  if (!may_contract(f.type(f.result(id)), context)) return {};
  const bool is_sub = f.kind(id) == OpKind::sub_;
  const ValueId a = f.operand(id, 0), b = f.operand(id, 1);
  const auto may_merge = [&](OpId mul, ValueId other) {
    const OpId negated = f.defined_by(other, OpKind::neg_);
    const bool is_difference = is_sub || negated;
    // p - p is 0 for a rounded product p; an fma would give its rounding error.
    if (mul && may_cancel(f, other, f.result(mul), !is_sub)) return false;
    return mul && !(is_difference && is_chosen_among_products(f, other, f.type(f.result(id)).rank()));
  };
  if (const OpId mul = definition_beside(f, a, OpKind::mul_, id); may_merge(mul, b)) {
    // x * y + z -> fma(x, y, z), x * y - z -> fma(x, y, -z)
    return rw.ternary(OpKind::fma_, f.operand(mul, 0), f.operand(mul, 1), is_sub ? rw.unary(OpKind::neg_, b) : b);
  }
  if (const OpId mul = definition_beside(f, b, OpKind::mul_, id); may_merge(mul, a)) {
    // z + x * y -> fma(x, y, z), z - x * y -> fma(-x, y, z)
    const ValueId x = f.operand(mul, 0);
    return rw.ternary(OpKind::fma_, is_sub ? rw.unary(OpKind::neg_, x) : x, f.operand(mul, 1), a);
  }
  return {};
}

/// Whether v is a sum so far, perhaps scaled: another dot, or a tile that a loop carries or has computed.
bool is_accumulator(const Function& f, ValueId v) {
  constexpr int kMostOps = 8;
  std::vector<ValueId> visits{v};
  for (std::size_t next = 0; next < visits.size() && next < kMostOps; ++next) {
    const ir::ValueData& value = f.value(visits[next]);
    if (!value.op) {
      if (value.block && f.block(value.block).parent) return true;
      continue;
    }
    switch (f.kind(value.op)) {
      case OpKind::dot_:
      case OpKind::for_: return true;
      case OpKind::mul_:
      case OpKind::add_:
      case OpKind::select_:
        for (ValueId x : f.op(value.op).operands) visits.push_back(x);
        break;
      default: break;
    }
  }
  return false;
}

// A sum of floats with other values, such as a bias, stays a sum: whether the dot has another use would else decide how it is rounded, and
// differently in two loops that compute it.
ValueId accumulate_in_dot(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  const Type t = f.type(f.result(id));
  if (f.kind(id) != OpKind::add_ || (t.is_float() && !context.contract)) return {};
  for (int i = 0; i < 2; ++i) {
    const OpId dot = sole_use_of(f, f.operand(id, i), OpKind::dot_, id);
    if (!dot || f.constant_bits(f.operand(dot, 2)) != 0u) continue;
    if (t.is_float() && !is_accumulator(f, f.operand(id, 1 - i))) continue;
    // dot(a, b, 0) + c -> dot(a, b, c); if c is another dot, one accumulates onto the other
    const ValueId operands[] = {f.operand(dot, 0), f.operand(dot, 1), f.operand(id, 1 - i)};
    return f.result(rw.create(OpKind::dot_, operands, f.op(dot).attrs));
  }
  return {};
}

/// GPU, f32: 1 / sqrt(x) -> rsqrt(x). The instruction is as precise as the two operations together.
ValueId reciprocal_square_root(Rewriter& rw, OpId id, const PassContext& context) {
  const Function& f = rw.ir();
  const Type t = f.type(f.result(id));
  const OpId root = f.defined_by(f.operand(id, 1), OpKind::sqrt_);
  if (!context.target.is_gpu() || t.element() != Element::f32 || !root) return {};
  const auto dividend = f.constant_bits(f.operand(id, 0));
  return dividend && ir::float_value(t.element(), *dividend) == 1 ? rw.unary(OpKind::rsqrt_, f.operand(root, 0)) : ValueId{};
}

}  // namespace

bool combine(Function& f, const PassContext& context) {
  Rewriter rw(f);
  SoftmaxToExp2 softmax(rw, context);
  ReciprocalReduction reciprocals(rw, context, softmax);
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    ValueId v;
    rw.at(id);
    if (k == OpKind::exp_) v = softmax.exp_below_maximum(id);
    if (k == OpKind::exp_ && !v) v = softmax.exp_of_rescale(id);
    if (k == OpKind::div_) v = reciprocal_square_root(rw, id, context);
    if (k == OpKind::div_ && !v) v = reciprocals.quotient(id);
    if (k == OpKind::add_ || k == OpKind::sub_) {
      v = accumulate_in_dot(rw, id, context);
      if (!v) v = fuse_multiply(rw, id, context);
    }
    if (!v) return;
    const std::vector<ValueId> operands = f.op(id).operands;
    rw.replace(id, v);
    for (ValueId x : operands) rw.erase_unused(x);  // the mul, dot, sub or sqrt that the new op replaces
  });
  return rw.changed();
}

}  // namespace tilewright::passes
