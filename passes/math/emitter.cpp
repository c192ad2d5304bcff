// Functions of the emitter that append more than one op.
#include "passes/math/emitter.h"

#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::math {

Expr Emitter::constant(ir::Type t, Number v) {
  if (!v.is_float) return wrap(builder_.constant(t, v.integer));
  TW_CHECK(t.is_float(), "a float constant meets an integer tile");
  return wrap(builder_.constant_float(t, v.real));
}

Expr mad(Expr a, Expr b, Expr c) { return a.emitter->has_fma() ? fma(a, b, c) : a * b + c; }

Expr fast_quotient(Expr a, Expr b) {
  const ir::ValueId operands[] = {a.id, b.id};
  ir::Builder& builder = a.emitter->builder();
  return a.emitter->wrap(builder.function().result(builder.create(ir::OpKind::div_, operands, {{ir::AttrName::fast, 1, {}}})));
}

Expr polynomial(Expr x, std::span<const double> c) {
  TW_CHECK(c.size() >= 2, "a polynomial of degree 0 is a constant");
  Expr y = mad(x, c[c.size() - 1], c[c.size() - 2]);
  for (std::size_t i = c.size() - 2; i-- > 0;) y = mad(y, x, c[i]);
  return y;
}

Expr bitcast(Expr x, ir::Element e) { return x.emitter->wrap(x.emitter->builder().bitcast(x.id, x.type().with_element(e))); }

}  // namespace tilewright::passes::math
