// Arithmetic on IR values as C++ expressions: each operator appends an op at the emitter's insertion point. expand_math and legalize_floats
// use it to write their formulas.
#pragma once
#include <concepts>
#include <cstdint>
#include <span>

#include "tileir/builder.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::math {

class Emitter;

/// A value in an expression.
struct Expr {
  Emitter* emitter = nullptr;
  ir::ValueId id;

  ir::Type type() const;
  ir::Element element() const { return type().element(); }
};

/// A constant that takes the element type and shape of the other operand: floats are rounded to nearest, integers are taken modulo the
/// width.
struct Number {
  Number(double v) : is_float(true), real(v) {}
  Number(std::integral auto v) : integer(static_cast<std::int64_t>(v)) {}

  bool is_float = false;
  double real = 0;
  std::int64_t integer = 0;
};

/// The insertion point of expressions, and the facts about the target's instructions.
class Emitter {
 public:
  /// has_exp2: the target has instructions for exp2 and for reciprocals of f32.
  Emitter(ir::Builder& builder, bool has_fma, bool has_exp2 = false) : builder_(builder), has_fma_(has_fma), has_exp2_(has_exp2) {}

  Expr wrap(ir::ValueId id) { return {this, id}; }
  Expr constant(ir::Type, Number);
  Expr unary(ir::OpKind k, Expr x) { return wrap(builder_.unary(k, x.id)); }
  Expr binary(ir::OpKind k, Expr a, Expr b) { return wrap(builder_.binary(k, a.id, b.id)); }
  Expr ternary(ir::OpKind k, Expr a, Expr b, Expr c) { return wrap(builder_.ternary(k, a.id, b.id, c.id)); }
  ir::Builder& builder() { return builder_; }
  bool has_fma() const { return has_fma_; }
  bool has_exp2() const { return has_exp2_; }

 private:
  ir::Builder& builder_;
  bool has_fma_, has_exp2_;
};

inline ir::Type Expr::type() const { return emitter->builder().function().type(id); }

/// A constant of another expression's type.
inline Expr like(Expr model, Number v) { return model.emitter->constant(model.type(), v); }

#define TW_EXPR_OPERATOR(symbol, op)                                                                 \
  inline Expr operator symbol(Expr a, Expr b) { return a.emitter->binary(ir::OpKind::op##_, a, b); } \
  inline Expr operator symbol(Expr a, Number b) { return a symbol like(a, b); }                      \
  inline Expr operator symbol(Number a, Expr b) { return like(b, a) symbol b; }
TW_EXPR_OPERATOR(+, add)
TW_EXPR_OPERATOR(-, sub)
TW_EXPR_OPERATOR(*, mul)
TW_EXPR_OPERATOR(/, div)
TW_EXPR_OPERATOR(&, bit_and)
TW_EXPR_OPERATOR(|, bit_or)
TW_EXPR_OPERATOR(^, bit_xor)
TW_EXPR_OPERATOR(<<, shl)
TW_EXPR_OPERATOR(>>, shr)
TW_EXPR_OPERATOR(<, lt)
TW_EXPR_OPERATOR(<=, le)
TW_EXPR_OPERATOR(>, gt)
TW_EXPR_OPERATOR(>=, ge)
TW_EXPR_OPERATOR(==, eq)
TW_EXPR_OPERATOR(!=, ne)
#undef TW_EXPR_OPERATOR

inline Expr operator-(Expr x) { return x.emitter->unary(ir::OpKind::neg_, x); }
inline Expr abs(Expr x) { return x.emitter->unary(ir::OpKind::abs_, x); }
inline Expr sqrt(Expr x) { return x.emitter->unary(ir::OpKind::sqrt_, x); }
inline Expr rint(Expr x) { return x.emitter->unary(ir::OpKind::rint_, x); }
inline Expr trunc(Expr x) { return x.emitter->unary(ir::OpKind::trunc_, x); }
inline Expr exp2_instruction(Expr x) { return x.emitter->unary(ir::OpKind::exp2_, x); }
/// a / b within 2 ulp, where b is a normal number, infinite or NaN. GPUs compute it as a reciprocal and a product.
Expr fast_quotient(Expr a, Expr b);
inline Expr copysign(Expr magnitude, Expr sign) { return sign.emitter->binary(ir::OpKind::copysign_, magnitude, sign); }
inline Expr umulhi(Expr a, Expr b) { return a.emitter->binary(ir::OpKind::umulhi_, a, b); }

inline Expr select(Expr condition, Expr a, Expr b) { return a.emitter->ternary(ir::OpKind::select_, condition, a, b); }
inline Expr select(Expr condition, Expr a, Number b) { return select(condition, a, like(a, b)); }
inline Expr select(Expr condition, Number a, Expr b) { return select(condition, like(b, a), b); }

/// a * b + c rounded once, on every target. Slow if there is no such instruction: use it only where the exact product is needed.
inline Expr fma(Expr a, Expr b, Expr c) { return a.emitter->ternary(ir::OpKind::fma_, a, b, c); }
/// a * b + c, rounded once or twice, as suits the target. The error bound of its user must hold in both cases.
Expr mad(Expr a, Expr b, Expr c);
inline Expr mad(Expr a, Number b, Expr c) { return mad(a, like(a, b), c); }
inline Expr mad(Expr a, Expr b, Number c) { return mad(a, b, like(a, c)); }
inline Expr mad(Expr a, Number b, Number c) { return mad(a, like(a, b), like(a, c)); }

/// x if it is not above (below) the bound, else the bound; NaN for NaN. It is one instruction on x86, unlike minimum and maximum.
inline Expr at_most(Expr x, Number bound) { return select(x > bound, bound, x); }
inline Expr at_least(Expr x, Number bound) { return select(x < bound, bound, x); }

/// c[0] + x (c[1] + x (c[2] + ...)).
Expr polynomial(Expr x, std::span<const double> c);

inline Expr cast(Expr x, ir::Element e) { return x.emitter->wrap(x.emitter->builder().cast(x.id, e)); }
Expr bitcast(Expr x, ir::Element e);
/// The bits of a float as a signed or unsigned integer of its width, and the inverse.
inline Expr signed_bits(Expr x) { return bitcast(x, ir::integer(ir::bits(x.element()), true)); }
inline Expr unsigned_bits(Expr x) { return bitcast(x, ir::integer(ir::bits(x.element()), false)); }

}  // namespace tilewright::passes::math
