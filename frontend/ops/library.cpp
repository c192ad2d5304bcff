// Functions composed of other operations.
#include "tilewright/ops/library.h"

#include <cmath>
#include <numbers>

#include "frontend/trace/emit.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

using ir::OpKind;
using ir::ValueId;

/// Arithmetic on values by C++ operators.
struct Math {
  Emit& e;
  ValueId un(OpKind k, ValueId x) { return e.b().unary(k, x); }
  ValueId bin(OpKind k, ValueId a, ValueId b) { return e.b().binary(k, a, b); }
  ValueId add(ValueId a, ValueId b) { return bin(OpKind::add_, a, b); }
  ValueId sub(ValueId a, ValueId b) { return bin(OpKind::sub_, a, b); }
  ValueId mul(ValueId a, ValueId b) { return bin(OpKind::mul_, a, b); }
  ValueId div(ValueId a, ValueId b) { return bin(OpKind::div_, a, b); }
  ValueId real(ValueId like, double v) { return e.real(e.type(like), v); }
  ValueId integer(ValueId like, std::int64_t v) { return e.integer(e.type(like), v); }
};

constexpr std::string_view kActivations[] = {"sigmoid", "silu", "gelu", "gelu_tanh", "relu"};

ValueId apply(Math m, Activation a, ValueId x) {
  switch (a) {
    case Activation::sigmoid: return m.div(m.real(x, 1), m.add(m.real(x, 1), m.un(OpKind::exp_, m.un(OpKind::neg_, x))));
    case Activation::silu: return m.div(x, m.add(m.real(x, 1), m.un(OpKind::exp_, m.un(OpKind::neg_, x))));
    case Activation::gelu: {
      const ValueId erf = m.un(OpKind::erf_, m.mul(x, m.real(x, 1 / std::numbers::sqrt2)));
      return m.mul(m.mul(m.real(x, 0.5), x), m.add(m.real(x, 1), erf));
    }
    case Activation::gelu_tanh: {
      const ValueId cube = m.mul(m.mul(x, x), x);
      const ValueId inner = m.mul(m.real(x, std::sqrt(2 / std::numbers::pi)), m.add(x, m.mul(m.real(x, 0.044715), cube)));
      return m.mul(m.mul(m.real(x, 0.5), x), m.add(m.real(x, 1), m.un(OpKind::tanh_, inner)));
    }
    case Activation::relu: return m.bin(OpKind::maximum_, x, m.real(x, 0));
  }
  TW_UNREACHABLE("activation");
}

/// Computes 16-bit floats in f32 and rounds the result, because intermediate results would lose too much precision.
template <class F>
Made widened(Emit& e, ValueId x, F&& compute) {
  const ir::Element element = e.type(x).element();
  if (ir::bits(element) > 16) return made(compute(x));
  return made(e.b().cast(compute(e.b().cast(x, ir::Element::f32)), element));
}

/// The reduction of x along an axis, broadcast to the shape of x.
ValueId reduced(Emit& e, OpKind combine, ValueId x, int axis) {
  ir::Function& f = e.trace().function();
  const Extents shape = e.type(x).shape();
  const ir::BlockId outer = e.b().block();
  const ir::OpId op =
      e.b().create(OpKind::reduce_, std::span(&x, 1), {ir::Attr{ir::AttrName::axis, axis, {}}, ir::Attr{ir::AttrName::commutative, 1, {}}});
  const ir::BlockId region = f.region(op);
  const ValueId a = f.add_arg(region, e.type(x).scalar()), b = f.add_arg(region, e.type(x).scalar());
  e.b().at_end(region);
  const ValueId y = e.b().binary(combine, a, b);
  e.b().create(OpKind::yield_, std::span(&y, 1));
  e.b().at_end(outer);
  Extents kept = shape;
  kept[axis] = 1;
  return e.b().broadcast(e.b().reshape(f.result(op), kept), shape);
}

}  // namespace

Made activation(Activation a, const Handle& t, const Here& at) {
  Emit e(kActivations[static_cast<int>(a)], at);
  return widened(e, e.value(t, "x"), [&](ValueId x) { return apply({e}, a, x); });
}

Made softmax(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("softmax", at);
  const ValueId v = e.value(t, "t");
  const int i = e.axis(axis, e.type(v).rank(), v, "t");
  return widened(e, v, [&](ValueId x) {
    Math m{e};
    const ValueId power = m.un(OpKind::exp_, m.sub(x, reduced(e, OpKind::maximum_, x, i)));
    return m.div(power, reduced(e, OpKind::add_, power, i));
  });
}

Made log_softmax(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("log_softmax", at);
  const ValueId v = e.value(t, "t");
  const int i = e.axis(axis, e.type(v).rank(), v, "t");
  return widened(e, v, [&](ValueId x) {
    Math m{e};
    const ValueId shifted = m.sub(x, reduced(e, OpKind::maximum_, x, i));
    return m.sub(shifted, m.un(OpKind::log_, reduced(e, OpKind::add_, m.un(OpKind::exp_, shifted), i)));
  });
}

Made cdiv(const Input& a, const Input& b, TypeCode meet) {
  Emit e("cdiv", a.at);
  const Input inputs[] = {a, b};
  const auto v = e.unify(inputs, meet, OpKind::div_);
  Math m{e};
  // (a + b - 1) / b would overflow near the greatest integer.
  const ValueId quotient = m.div(v[0], v[1]), rest = m.bin(OpKind::rem_, v[0], v[1]), zero = m.integer(rest, 0);
  ValueId up = m.bin(OpKind::ne_, rest, zero);
  if (ir::is_signed(e.type(rest).element()))
    up = m.bin(OpKind::bit_and_, up, m.bin(OpKind::eq_, m.bin(OpKind::lt_, rest, zero), m.bin(OpKind::lt_, v[1], zero)));
  return made(m.add(quotient, e.b().cast(up, e.type(quotient).element())));
}

Made next_power_of_two(const Handle& t, const Here& at) {
  Emit e("next_power_of_two", at);
  const ValueId n = e.value(t, "n");
  const ir::Element element = e.type(n).element();
  Math m{e};
  const ValueId zeros = m.un(OpKind::clz_, m.sub(n, m.integer(n, 1)));
  const ValueId shift = e.b().cast(m.sub(m.integer(zeros, ir::bits(element)), zeros), element);
  const ValueId one = m.integer(n, 1);
  return made(e.b().select(m.bin(OpKind::le_, n, one), one, m.bin(OpKind::shl_, one, shift)));
}

std::pair<Made, Made> grouped_order(const Handle& pid, const Input& tiles_m, const Input& tiles_n, const Input& group) {
  Emit e("grouped_order", tiles_m.at);
  Math m{e};
  constexpr std::string_view names[] = {"pid", "tiles_m", "tiles_n", "group"};
  ValueId v[] = {e.value(pid, names[0]), e.integer_input(tiles_m, ir::Element::i32, names[1]),
                 e.integer_input(tiles_n, ir::Element::i32, names[2]), e.integer_input(group, ir::Element::i32, names[3])};
  e.broadcast_all(v, names);
  const ValueId in_group = m.mul(v[3], v[2]), first = m.mul(m.div(v[0], in_group), v[3]);
  // The last group may have fewer rows than the others.
  const ValueId rows = m.bin(OpKind::minimum_, m.sub(v[1], first), v[3]), rest = m.bin(OpKind::rem_, v[0], in_group);
  return {made(m.add(first, m.bin(OpKind::rem_, rest, rows))), made(m.div(rest, rows))};
}

}  // namespace tilewright::detail
