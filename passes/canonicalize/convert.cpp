// Rules for chains of casts, and for sums of pointers and offsets.
#include "passes/canonicalize/rules.h"
#include "tileir/op_kind.h"
#include "tileir/splat.h"

namespace tilewright::passes::canonical {

namespace {

/// The bits of the significand, including the leading one.
int precision(Element e) {
  switch (e) {
    case Element::f16: return 11;
    case Element::bf16: return 8;
    case Element::f32: return 24;
    case Element::f64: return 53;
    case Element::f8e4m3: return 4;
    case Element::f8e5m2: return 3;
    default: return ir::bits(e) - (ir::is_signed(e) ? 1 : 0);  // -2^(n-1) has one significant bit and so fits too
  }
}

/// Whether every value of `from` is a value of `to`, so that the cast is exact.
bool is_exact(Element from, Element to) {
  if (from == to || from == Element::boolean) return true;
  if (to == Element::boolean) return false;
  if (ir::is_float(to)) {
    if (ir::is_fp8(to) || precision(from) > precision(to)) return false;
    if (!ir::is_float(from)) return true;                   // an integer of at most 11, 8, 24, 53 bits fits f16, bf16, f32, f64
    return !(from == Element::bf16 && to == Element::f16);  // the exponents of fp8 fit those of the 16-bit floats
  }
  if (ir::is_float(from)) return false;
  if (ir::is_signed(from)) return ir::is_signed(to) && ir::bits(to) >= ir::bits(from);
  return ir::is_signed(to) ? ir::bits(to) > ir::bits(from) : ir::bits(to) >= ir::bits(from);
}

ValueId fold_cast(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const Element to = f.type(f.result(id)).element();
  if (f.type(x).element() == to) return x;  // T(x: T) -> x
  const ValueId source = operand_of(f, x, OpKind::cast_);
  if (!source) return {};
  const Element from = f.type(source).element(), middle = f.type(x).element();
  // A cast through f32 from or to a small float stays: legalize_floats may have made it, since hardware converts from and to f32.
  const auto is_small = [](Element e) { return ir::is_float(e) && ir::bits(e) < 32; };
  if (from != to && middle == Element::f32 && (is_small(from) || is_small(to))) return {};
  // to(middle(x)) -> to(x) if the middle type keeps the value, or if all three are integers and the last keeps no more bits than the
  // middle. Integers and floats differ when a value does not fit: from an integer it wraps, from a float it saturates.
  const bool all_integers = ir::is_integer(from) && ir::is_integer(middle) && ir::is_integer(to);
  const bool saturates = ir::is_integer(from) && ir::is_float(middle) && ir::is_integer(to) && !is_exact(from, to);
  const bool may_skip = (is_exact(from, middle) && !saturates) || (all_integers && ir::bits(to) <= ir::bits(middle));
  return may_skip ? rw.cast(source, to) : ValueId{};
}

ValueId fold_bitcast(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId x = f.operand(id, 0);
  const Type to = f.type(f.result(id));
  if (f.type(x) == to) return x;
  const ValueId source = operand_of(f, x, OpKind::bitcast_);
  return source ? rw.bitcast(source, to) : ValueId{};  // bitcast(bitcast(x)) -> bitcast(x)
}

ValueId fold_add_ptr(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const ValueId p = f.operand(id, 0), y = f.operand(id, 1);
  const Type t = f.type(p);
  const auto c = f.constant_bits(y);
  if (c && *c == 0) return p;  // p + 0 -> p
  const OpId inner = f.defined_by(p, OpKind::add_ptr_);
  if (!inner || !is_splat(f, y)) return {};
  const ValueId q = f.operand(inner, 0), x = f.operand(inner, 1);
  if (is_splat(f, x)) {
    // (q + x) + y -> q + (x + y) for splats x and y: the sum is one scalar
    const ValueId sum = rw.binary(OpKind::add_, splat_scalar(rw, x, Element::i64), splat_scalar(rw, y, Element::i64));
    return rw.add_ptr(q, rw.broadcast(sum, t.shape()));
  }
  const ValueId base = operand_of(f, q, OpKind::broadcast_);
  if (!base) return {};
  // (broadcast(b) + x) + y -> broadcast(b + y) + x for a splat y: the sum is one of small tiles, and x may be loop-invariant
  const ValueId moved = rw.add_ptr(base, rw.broadcast(splat_scalar(rw, y, Element::i64), f.type(base).shape()));
  return rw.add_ptr(rw.broadcast(moved, t.shape()), x);
}

}  // namespace

ValueId fold_convert(Rewriter& rw, OpId id) {
  switch (rw.ir().kind(id)) {
    case OpKind::cast_: return fold_cast(rw, id);
    case OpKind::bitcast_: return fold_bitcast(rw, id);
    case OpKind::add_ptr_: return fold_add_ptr(rw, id);
    default: return {};
  }
}

}  // namespace tilewright::passes::canonical
