// Traces element-wise operations, conversions and pointer arithmetic.
#include "tilewright/ops/elementwise.h"

#include <fmt/format.h>

#include "frontend/ops/elementwise_ops.h"
#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

const ir::Attr kFast{ir::AttrName::fast, 1, {}, {}};

}  // namespace

Made unary(Unary op, const Input& x) {
  const ElementwiseOp r = op_of(op);
  Emit e(r.name, x.at);
  return made(e.b().unary(r.kind, e.value(*x.handle, "x")));
}

Made binary(Binary op, const Input& a, const Input& b, TypeCode meet) {
  const ElementwiseOp r = op_of(op);
  Emit e(r.name, a.at);
  const Input inputs[] = {a, b};
  const auto v = e.unify(inputs, meet, r.kind);
  return made(e.b().binary(r.kind, v[0], v[1]));
}

Made fast_unary(Unary op, const Input& x) {
  const ElementwiseOp r = op_of(op);
  const std::string name = fmt::format("fast::{}", r.name);
  Emit e(name, x.at);
  const ir::ValueId v = e.value(*x.handle, "x");
  return made(e.trace().function().result(e.b().create(r.kind, std::span(&v, 1), {kFast})));
}

Made fast_div(const Input& a, const Input& b, TypeCode meet) {
  Emit e("fast::div", a.at);
  const Input inputs[] = {a, b};
  const auto v = e.unify(inputs, meet, ir::OpKind::div_);
  return made(e.trace().function().result(e.b().create(ir::OpKind::div_, v, {kFast})));
}

Made fma(const Input& a, const Input& b, const Input& c, TypeCode meet) {
  Emit e("fma", a.at);
  const Input inputs[] = {a, b, c};
  const auto v = e.unify(inputs, meet, ir::OpKind::fma_);
  return made(e.b().ternary(ir::OpKind::fma_, v[0], v[1], v[2]));
}

Made clamp(const Input& x, const Input& lo, const Input& hi, TypeCode meet) {
  Emit e("clamp", x.at);
  const Input inputs[] = {x, lo, hi};
  constexpr std::string_view names[] = {"x", "lo", "hi"};
  const auto v = e.unify(inputs, meet, names);
  return made(e.b().binary(ir::OpKind::minimum_, e.b().binary(ir::OpKind::maximum_, v[0], v[1]), v[2]));
}

Made where(const Handle& condition, const Input& a, const Input& b, TypeCode meet) {
  Emit e("where", a.at);
  const Input inputs[] = {a, b};
  constexpr std::string_view names[] = {"condition", "a", "b"};
  ir::ValueId v[] = {e.value(condition, names[0]), {}, {}};
  // Constants get the shape of the tiles; the condition may have the highest rank.
  const auto sides = e.unify(inputs, meet, std::span(names).subspan(1));
  v[1] = sides[0], v[2] = sides[1];
  e.broadcast_all(v, names);
  return made(e.b().select(v[0], v[1], v[2]));
}

Made cast(const Handle& t, TypeCode type, const Here& at) {
  Emit e("cast", at);
  return made(e.b().cast(e.value(t, "t"), static_cast<ir::Element>(type.element)));
}

Made bitcast(const Handle& t, TypeCode type, const Here& at) {
  Emit e("bitcast", at);
  return made(e.b().bitcast(e.value(t, "t"), ir_type(type)));
}

Handle add_const(const Handle& t, const Here& at) {
  const Trace* trace = Trace::active();
  if (trace == nullptr || !Trace::value_of(t)) return t;  // reported where it is used
  Emit e("conversion to a pointer to const", at);
  const ir::ValueId v = e.value(t, "pointer");
  return Handle(made(e.b().bitcast(v, ir::Type::pointer(e.type(v).element(), true))));
}

Made offset_pointer(const Input& pointer, const Input& offset, bool negative) {
  Emit e(negative ? "operator-" : "operator+", pointer.at);
  constexpr std::string_view names[] = {"pointer", "offset"};
  ir::ValueId v[] = {e.value(*pointer.handle, names[0]), {}};
  if (offset.handle == nullptr) {
    Scalar s = offset.constant;
    // A 64-bit unsigned offset has the same effect as a signed one, because addresses wrap.
    s.kind = Scalar::Kind::signed_integer;
    if (negative) s.bits = 0 - s.bits;
    v[1] = e.constant(s, ir::Element::i64, e.type(v[0]).shape());
  } else {
    v[1] = e.value(*offset.handle, names[1]);
    if (negative) v[1] = e.b().unary(ir::OpKind::neg_, e.b().cast(v[1], ir::Element::i64));
    e.broadcast_all(v, names);
  }
  return made(e.b().add_ptr(v[0], v[1]));
}

}  // namespace tilewright::detail
