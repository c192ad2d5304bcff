// Rules for floats that give the same bits for every input, including NaN, infinities, both zeros and subnormals; only a NaN's payload may
// differ.
#include <cmath>

#include "passes/canonicalize/rules.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::canonical {

namespace {

/// The value of the second operand, if it is a constant.
std::optional<double> constant_value(const Binary& x) { return x.c ? std::optional(ir::float_value(x.element, *x.c)) : std::nullopt; }
bool is_negative_zero(std::optional<double> v) { return v && *v == 0 && std::signbit(*v); }
bool is_positive_zero(std::optional<double> v) { return v && *v == 0 && !std::signbit(*v); }

/// 1 / c if c and 1 / c are powers of two and normal numbers of the element type: then x / c and x * (1 / c) round the same exact value.
std::optional<double> exact_reciprocal(ir::Element e, std::optional<double> c) {
  if (!c || !std::isnormal(*c)) return std::nullopt;
  int exponent = 0;
  // For a power of two, frexp gives c = +-0.5 * 2^exponent.
  if (std::fabs(std::frexp(*c, &exponent)) != 0.5) return std::nullopt;
  const int least = e == ir::Element::f16 ? -14 : e == ir::Element::f64 ? -1022 : -126;  // the exponent of the least normal number
  if (std::abs(exponent - 1) > -least) return std::nullopt;
  return 1 / *c;
}

ValueId fold_binary(Rewriter& rw, OpKind k, const Binary& x) {
  const Function& f = rw.ir();
  const std::optional<double> c = constant_value(x);
  switch (k) {
    case OpKind::add_:
      if (is_negative_zero(c)) return x.a;                                                             // x + -0 -> x; but -0 + +0 is +0
      if (const ValueId y = operand_of(f, x.b, OpKind::neg_)) return rw.binary(OpKind::sub_, x.a, y);  // x + -y -> x - y
      if (const ValueId y = operand_of(f, x.a, OpKind::neg_)) return rw.binary(OpKind::sub_, x.b, y);  // -y + x -> x - y
      return {};
    case OpKind::sub_:
      if (is_positive_zero(c)) return x.a;                                                             // x - +0 -> x; but -0 - -0 is +0
      if (const ValueId y = operand_of(f, x.b, OpKind::neg_)) return rw.binary(OpKind::add_, x.a, y);  // x - -y -> x + y
      return {};
    case OpKind::mul_:
      if (c == 1.0) return x.a;                           // x * 1 -> x
      if (c == -1.0) return rw.unary(OpKind::neg_, x.a);  // x * -1 -> -x
      return {};
    case OpKind::div_:
    case OpKind::div_rn_:
      if (c == 1.0) return x.a;                           // x / 1 -> x
      if (c == -1.0) return rw.unary(OpKind::neg_, x.a);  // x / -1 -> -x
      if (const auto r = exact_reciprocal(x.element, c))  // x / 2^k -> x * 2^-k
        return rw.binary(OpKind::mul_, x.a, rw.constant_float(x.type, *r));
      return {};
    case OpKind::minimum_:
    case OpKind::maximum_:
    case OpKind::fmin_:
    case OpKind::fmax_:
    case OpKind::copysign_: return x.a == x.b ? x.a : ValueId{};  // min(x, x), max(x, x), copysign(x, x) -> x
    default: return {};
  }
}

bool rounds_to_integer(OpKind k) {
  return k == OpKind::ceil_ || k == OpKind::floor_ || k == OpKind::round_ || k == OpKind::rint_ || k == OpKind::trunc_;
}

ValueId fold_unary(Rewriter& rw, OpKind k, ValueId x) {
  const Function& f = rw.ir();
  if (rounds_to_integer(k)) {
    const OpId inner = f.value(x).op;
    return inner && rounds_to_integer(f.kind(inner)) ? x : ValueId{};  // floor(ceil(x)) -> ceil(x), ...
  }
  switch (k) {
    case OpKind::neg_: return operand_of(f, x, OpKind::neg_);  // --x -> x
    case OpKind::abs_:
      if (f.defined_by(x, OpKind::abs_)) return x;                                  // ||x|| -> |x|
      if (const ValueId y = operand_of(f, x, OpKind::neg_)) return rw.unary(k, y);  // |-x| -> |x|
      return {};
    default: return {};
  }
}

ValueId fold_fma(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const Binary x(f, id);  // the product, operands 0 and 1
  const ValueId addend = f.operand(id, 2);
  const std::optional<double> c = constant_value(x);
  if (c == 1.0) return rw.binary(OpKind::add_, x.a, addend);   // fma(x, 1, y) -> x + y
  if (c == -1.0) return rw.binary(OpKind::sub_, addend, x.a);  // fma(x, -1, y) -> y - x
  if (const auto s = f.constant_bits(addend); s && is_negative_zero(ir::float_value(x.element, *s)))
    return rw.binary(OpKind::mul_, x.a, x.b);  // fma(x, y, -0) -> x * y
  // fma(-x, -y, z) -> fma(x, y, z)
  const ValueId a = operand_of(f, x.a, OpKind::neg_), b = operand_of(f, x.b, OpKind::neg_);
  return a && b ? rw.ternary(OpKind::fma_, a, b, addend) : ValueId{};
}

}  // namespace

ValueId fold_float(Rewriter& rw, OpId id) {
  const Function& f = rw.ir();
  const OpKind k = f.kind(id);
  const ir::OpInfo& info = ir::info(k);
  if (info.family != ir::Family::unary && info.family != ir::Family::binary && k != OpKind::fma_) return {};
  if (!f.type(f.operand(id, 0)).is_float()) return {};
  if (k == OpKind::fma_) return fold_fma(rw, id);
  return info.family == ir::Family::unary ? fold_unary(rw, k, f.operand(id, 0)) : fold_binary(rw, k, Binary(f, id));
}

}  // namespace tilewright::passes::canonical
