// Traces the named reductions.
#include "tilewright/ops/reduce.h"

#include <fmt/format.h>

#include "frontend/ops/combine.h"
#include "tileir/diagnostics.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "xor_sum"};

ir::OpKind combiner(Reduction r) {
  switch (r) {
    case Reduction::sum: return ir::OpKind::add_;
    case Reduction::prod: return ir::OpKind::mul_;
    case Reduction::max: return ir::OpKind::maximum_;
    case Reduction::min: return ir::OpKind::minimum_;
    case Reduction::any: return ir::OpKind::bit_or_;
    case Reduction::all: return ir::OpKind::bit_and_;
    case Reduction::xor_sum: return ir::OpKind::bit_xor_;
    case Reduction::argmax:
    case Reduction::argmin: break;
  }
  TW_UNREACHABLE("a reduction without an op");
}

bool is_arg(Reduction r) { return r == Reduction::argmax || r == Reduction::argmin; }

/// The attributes of a named reduction: elements may be combined in any order.
std::vector<ir::Attr> attributes(int axis) {
  std::vector<ir::Attr> attrs{ir::Attr{ir::AttrName::axis, axis, {}}};
  attrs.push_back(ir::Attr{ir::AttrName::commutative, 1, {}});
  return attrs;
}

ir::ValueId simple(Emit& e, Reduction r, ir::ValueId x, int axis) {
  const ir::Type t = e.type(x);
  // 16-bit floats keep too few bits for a running sum.
  const bool widen = t.is_float() && ir::bits(t.element()) <= 16 && (r == Reduction::sum || r == Reduction::prod);
  if (widen) x = e.b().cast(x, ir::Element::f32);
  const ir::ValueId result = combine_by(e, ir::OpKind::reduce_, combiner(r), x, attributes(axis));
  return widen ? e.b().cast(result, t.element()) : result;
}

/// The order is total (value, then index; NaN first), so elements may be combined in any order.
ir::ValueId arg(Emit& e, Reduction r, ir::ValueId x, int axis) {
  ir::Builder& b = e.b();
  const ir::Type t = e.type(x);
  Extents line(static_cast<std::size_t>(t.rank()), 1);
  line[axis] = t.extent(axis);
  const ir::ValueId index = b.broadcast(b.reshape(b.arange(0, t.extent(axis)), line), t.shape());
  const ir::ValueId tiles[] = {x, index};
  const OpenCombine o = open_combine(e, ir::OpKind::reduce_, tiles, attributes(axis));
  const ir::ValueId va = o.arguments[0], ia = o.arguments[1], vb = o.arguments[2], ib = o.arguments[3];
  ir::ValueId better = b.binary(r == Reduction::argmax ? ir::OpKind::gt_ : ir::OpKind::lt_, vb, va);
  ir::ValueId equal = b.binary(ir::OpKind::eq_, vb, va);
  if (t.is_float()) {
    const ir::ValueId nan_a = b.unary(ir::OpKind::isnan_, va), nan_b = b.unary(ir::OpKind::isnan_, vb);
    better = b.binary(ir::OpKind::bit_or_, better, b.binary(ir::OpKind::bit_and_, nan_b, b.unary(ir::OpKind::bit_not_, nan_a)));
    equal = b.binary(ir::OpKind::bit_or_, equal, b.binary(ir::OpKind::bit_and_, nan_a, nan_b));
  }
  const ir::ValueId lower = b.binary(ir::OpKind::lt_, ib, ia);
  const ir::ValueId take_b = b.binary(ir::OpKind::bit_or_, better, b.binary(ir::OpKind::bit_and_, equal, lower));
  const ir::ValueId yields[] = {b.select(take_b, vb, va), b.select(take_b, ib, ia)};
  close_combine(e, o, yields);
  return e.trace().function().result(o.op, 1);
}

ir::ValueId along(Emit& e, Reduction r, ir::ValueId x, int axis) { return is_arg(r) ? arg(e, r, x, axis) : simple(e, r, x, axis); }

void refuse_scalar(Emit& e, Reduction r, ir::ValueId x) {
  if (r != Reduction::max && r != Reduction::min) return;
  const std::string_view pair = r == Reduction::max ? "maximum" : "minimum";
  e.fail(fmt::format("'t' is a scalar, and {} reduces an axis of a tile; of two values, use {}", kNames[static_cast<int>(r)], pair), x,
         "'t' defined here");
}

}  // namespace

Made reduce(Reduction r, const Handle& t, const Here& at) {
  Emit e(kNames[static_cast<int>(r)], at);
  const ir::ValueId x = e.value(t, "t");
  if (e.type(x).is_scalar()) {
    refuse_scalar(e, r, x);
    return made(is_arg(r) ? e.integer(ir::Type(ir::Element::i32), 0) : x);
  }
  return made(along(e, r, e.b().reshape(x, Extents{e.type(x).elements()}), 0));
}

Made reduce(Reduction r, const Handle& t, std::int64_t axis, bool keep_dims, const Here& at) {
  Emit e(kNames[static_cast<int>(r)], at);
  const ir::ValueId x = e.value(t, "t");
  if (e.type(x).is_scalar()) refuse_scalar(e, r, x);
  const int i = e.axis(axis, e.type(x).rank(), x, "t");
  Extents shape = e.type(x).shape();
  const ir::ValueId result = along(e, r, x, i);
  if (!keep_dims) return made(result);
  shape[i] = 1;
  return made(e.b().reshape(result, shape));
}

}  // namespace tilewright::detail
