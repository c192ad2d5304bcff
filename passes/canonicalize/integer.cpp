// Rules for integers and bools. Integers wrap, so all rules hold modulo 2^width.
#include "passes/canonicalize/rules.h"
#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

ValueId zero(Rewriter& rw, const Binary& x) { return rw.constant_bits(x.type, 0); }

std::uint64_t evaluate(OpKind k, const Binary& x, std::uint64_t a, std::uint64_t b) {
  const ir::Type t(x.element);
  const ir::Type types[] = {t, t};
  const std::uint64_t bits[] = {a, b};
  return ir::evaluate_scalar(k, types, bits, t);
}

ValueId fold_associative(Rewriter& rw, OpKind k, const Binary& x) {
  const Function& f = rw.ir();
  const OpId inner = f.defined_by(x.a, k);
  if (!x.c || !inner) return {};
  const Binary in(f, inner);
  if (!in.c) return {};
  // (x op c1) op c2 -> x op (c1 op c2) for associative ops: add, mul, and, or, xor, min, max
  return rw.binary(k, in.a, rw.constant_bits(x.type, evaluate(k, x, *in.c, *x.c)));
}

ValueId fold_add(Rewriter& rw, const Binary& x) {
  const Function& f = rw.ir();
  if (x.is(0)) return x.a;                                                                         // x + 0 -> x
  if (const ValueId y = operand_of(f, x.b, OpKind::neg_)) return rw.binary(OpKind::sub_, x.a, y);  // x + -y -> x - y
  if (const ValueId y = operand_of(f, x.a, OpKind::neg_)) return rw.binary(OpKind::sub_, x.b, y);  // -y + x -> x - y
  // (x - y) + y -> x, y + (x - y) -> x
  if (operand_of(f, x.a, OpKind::sub_, 1) == x.b) return operand_of(f, x.a, OpKind::sub_);
  if (operand_of(f, x.b, OpKind::sub_, 1) == x.a) return operand_of(f, x.b, OpKind::sub_);
  return {};
}

ValueId fold_sub(Rewriter& rw, const Binary& x) {
  const Function& f = rw.ir();
  if (x.a == x.b) return zero(rw, x);  // x - x -> 0
  // x - c -> x + -c: one form for constants
  if (x.c) return rw.binary(OpKind::add_, x.a, rw.constant_bits(x.type, (0 - *x.c) & element_mask(x.element)));
  if (f.constant_bits(x.a) == 0u) return rw.unary(OpKind::neg_, x.b);                              // 0 - x -> -x
  if (const ValueId y = operand_of(f, x.b, OpKind::neg_)) return rw.binary(OpKind::add_, x.a, y);  // x - -y -> x + y
  // (x + y) - y -> x, (x + y) - x -> y
  if (operand_of(f, x.a, OpKind::add_, 1) == x.b) return operand_of(f, x.a, OpKind::add_, 0);
  if (operand_of(f, x.a, OpKind::add_, 0) == x.b) return operand_of(f, x.a, OpKind::add_, 1);
  return {};
}

ValueId fold_mul(Rewriter& rw, const Binary& x) {
  const Function& f = rw.ir();
  if (x.is(0)) return x.b;                                  // x * 0 -> 0
  if (x.is(1)) return x.a;                                  // x * 1 -> x
  if (x.is_all_ones()) return rw.unary(OpKind::neg_, x.a);  // x * -1 -> -x
  if (const OpId inner = f.defined_by(x.a, OpKind::shl_); inner && x.c) {
    const Binary in(f, inner);
    if (in.c && *in.c < static_cast<std::uint64_t>(x.width))  // (x << c1) * c2 -> x * (c2 << c1)
      return rw.binary(OpKind::mul_, in.a, rw.constant_bits(x.type, (*x.c << *in.c) & element_mask(x.element)));
  }
  if (ir::is_unsigned(x.element) && x.is_power_of_two())  // unsigned x * 2^k -> x << k
    return rw.binary(OpKind::shl_, x.a, rw.constant_bits(x.type, std::countr_zero(*x.c)));
  return {};
}

ValueId fold_div(Rewriter& rw, const Binary& x) {
  if (x.is(1)) return x.a;                                                                         // x / 1 -> x
  if (x.is(0)) return rw.constant_bits(x.type, element_mask(x.element));                           // x / 0 -> all bits set
  if (ir::is_signed(x.element)) return x.is_all_ones() ? rw.unary(OpKind::neg_, x.a) : ValueId{};  // x / -1 -> -x, least / -1 = least
  if (x.is_power_of_two())                                                                         // unsigned x / 2^k -> x >> k
    return rw.binary(OpKind::shr_, x.a, rw.constant_bits(x.type, std::countr_zero(*x.c)));
  return {};
}

ValueId fold_rem(Rewriter& rw, const Binary& x) {
  if (x.a == x.b || x.is(1)) return zero(rw, x);                                   // x % x -> 0 (0 % 0 = 0), x % 1 -> 0
  if (x.is(0)) return x.a;                                                         // x % 0 -> x
  if (rw.ir().constant_bits(x.a) == 0u) return x.a;                                // 0 % x -> 0
  if (ir::is_signed(x.element)) return x.is_all_ones() ? zero(rw, x) : ValueId{};  // x % -1 -> 0
  if (x.is_power_of_two())                                                         // unsigned x % 2^k -> x & (2^k - 1)
    return rw.binary(OpKind::bit_and_, x.a, rw.constant_bits(x.type, *x.c - 1));
  return {};
}

ValueId fold_shift(Rewriter& rw, OpKind k, const Binary& x) {
  const Function& f = rw.ir();
  if (f.constant_bits(x.a) == 0u) return x.a;  // 0 << x, 0 >> x -> 0
  if (!x.c) return {};
  const auto width = static_cast<std::uint64_t>(x.width);
  const bool keeps_sign = k == OpKind::shr_ && ir::is_signed(x.element);
  if (*x.c == 0) return x.a;  // x << 0, x >> 0 -> x
  if (*x.c >= width) {        // x << c, x >> c -> 0 past the width; signed x >> c -> x >> (width - 1)
    return keeps_sign ? rw.binary(k, x.a, rw.constant_bits(x.type, width - 1)) : zero(rw, x);
  }
  if (const OpId inner = f.defined_by(x.a, k)) {
    const Binary in(f, inner);
    if (in.c && *in.c < width) {  // (x shift c1) shift c2 -> x shift (c1 + c2)
      const std::uint64_t sum = *in.c + *x.c;
      if (sum >= width && !keeps_sign) return zero(rw, x);
      return rw.binary(k, in.a, rw.constant_bits(x.type, std::min(sum, width - 1)));
    }
  }
  if (const OpId inner = f.defined_by(x.a, OpKind::mul_); inner && k == OpKind::shl_) {
    const Binary in(f, inner);
    if (in.c)  // (x * c1) << c2 -> x * (c1 << c2)
      return rw.binary(OpKind::mul_, in.a, rw.constant_bits(x.type, (*in.c << *x.c) & element_mask(x.element)));
  }
  return {};
}

/// Whether one value is the bit_not of the other.
bool are_opposite(const Function& f, const Binary& x) {
  return operand_of(f, x.a, OpKind::bit_not_) == x.b || operand_of(f, x.b, OpKind::bit_not_) == x.a;
}

ValueId fold_bits(Rewriter& rw, OpKind k, const Binary& x) {
  const Function& f = rw.ir();
  const auto all_ones = [&] { return rw.constant_bits(x.type, element_mask(x.element)); };
  switch (k) {
    case OpKind::bit_and_:
      if (x.a == x.b || x.is_all_ones()) return x.a;  // x & x, x & ~0 -> x
      if (x.is(0)) return x.b;                        // x & 0 -> 0
      if (are_opposite(f, x)) return zero(rw, x);     // x & ~x -> 0
      // (x & y) & y -> x & y, and mirrored
      if (operand_of(f, x.a, k, 0) == x.b || operand_of(f, x.a, k, 1) == x.b) return x.a;
      if (operand_of(f, x.b, k, 0) == x.a || operand_of(f, x.b, k, 1) == x.a) return x.b;
      return {};
    case OpKind::bit_or_:
      if (x.a == x.b || x.is(0)) return x.a;      // x | x, x | 0 -> x
      if (x.is_all_ones()) return x.b;            // x | ~0 -> ~0
      if (are_opposite(f, x)) return all_ones();  // x | ~x -> ~0
      return {};
    default:
      if (x.a == x.b) return zero(rw, x);                           // x ^ x -> 0
      if (x.is(0)) return x.a;                                      // x ^ 0 -> x
      if (x.is_all_ones()) return rw.unary(OpKind::bit_not_, x.a);  // x ^ ~0 -> ~x
      if (are_opposite(f, x)) return all_ones();                    // x ^ ~x -> ~0
      return {};
  }
}

ValueId fold_unary(Rewriter& rw, OpKind k, ValueId x) {
  const Function& f = rw.ir();
  switch (k) {
    case OpKind::neg_:
      if (const ValueId y = operand_of(f, x, OpKind::neg_)) return y;  // --x -> x
      if (const OpId d = f.defined_by(x, OpKind::sub_))                // -(x - y) -> y - x
        return rw.binary(OpKind::sub_, f.operand(d, 1), f.operand(d, 0));
      return {};
    case OpKind::bit_not_: return operand_of(f, x, OpKind::bit_not_);  // ~~x -> x
    case OpKind::abs_:
      if (f.defined_by(x, OpKind::abs_) || ir::is_unsigned(f.type(x).element())) return x;  // ||x|| -> |x|, unsigned |x| -> x
      if (const ValueId y = operand_of(f, x, OpKind::neg_)) return rw.unary(k, y);          // |-x| -> |x|
      return {};
    default: return {};
  }
}

ValueId fold_binary(Rewriter& rw, OpKind k, const Binary& x) {
  switch (k) {
    case OpKind::add_: return fold_add(rw, x);
    case OpKind::sub_: return fold_sub(rw, x);
    case OpKind::mul_: return fold_mul(rw, x);
    case OpKind::div_: return fold_div(rw, x);
    case OpKind::rem_: return fold_rem(rw, x);
    case OpKind::shl_:
    case OpKind::shr_: return fold_shift(rw, k, x);
    case OpKind::bit_and_:
    case OpKind::bit_or_:
    case OpKind::bit_xor_: return fold_bits(rw, k, x);
    case OpKind::minimum_:
    case OpKind::maximum_: return x.a == x.b ? x.a : ValueId{};                 // min(x, x), max(x, x) -> x
    case OpKind::umulhi_: return x.is(0) || x.is(1) ? zero(rw, x) : ValueId{};  // the upper half of x * 0, x * 1
    default: return {};
  }
}

bool is_associative(OpKind k) {
  switch (k) {
    case OpKind::add_:
    case OpKind::mul_:
    case OpKind::bit_and_:
    case OpKind::bit_or_:
    case OpKind::bit_xor_:
    case OpKind::minimum_:
    case OpKind::maximum_: return true;
    default: return false;
  }
}

}  // namespace

ValueId fold_integer(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const OpKind k = f.kind(id);
  const ir::Family family = ir::info(k).family;
  if (family != ir::Family::unary && family != ir::Family::binary) return {};
  const ir::Type t = f.type(f.operand(id, 0));
  if (!t.is_integer() && !t.is_bool()) return {};
  if (family == ir::Family::unary) return fold_unary(rw, k, f.operand(id, 0));
  const Binary x(f, id);
  if (const ValueId v = fold_binary(rw, k, x)) return v;
  return is_associative(k) ? fold_associative(rw, k, x) : ValueId{};
}

}  // namespace tilewright::passes::canonical
