// The matrix products.
#include "tilewright/ops/dot.h"

#include <fmt/format.h>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"
#include "tilewright/detail/enumerator.h"

namespace tilewright::detail {

static_assert(static_cast<int>(Precision::ieee) == static_cast<int>(ir::Precision::ieee) &&
              static_cast<int>(Precision::tf32) == static_cast<int>(ir::Precision::tf32));

Made dot(const Handle& a, const Handle& b, const Maybe& acc, TypeCode acc_type, Precision precision, const Here& at) {
  Emit e("dot", at);
  if (const std::string mistake = enumerator_mistake("precision", precision, Precision::ieee, "Precision"); !mistake.empty())
    e.fail(mistake);
  const ir::ValueId va = e.value(a, "a"), vb = e.value(b, "b");
  const ir::Type ta = e.type(va), tb = e.type(vb);
  // If there is no accumulator, one is made in the shape of the result. So ranks are checked here, before the type rule is applied.
  if (ta.rank() != 2 && ta.rank() != 3)
    e.fail(fmt::format("'a' is {}; it must be [M, K], or [batch, M, K]", ir::shape_text(ta)), va, "'a' defined here");
  if (tb.rank() != ta.rank())
    e.fail(fmt::format("'b' is {} and 'a' is {}; they must have the same number of axes", ir::shape_text(tb), ir::shape_text(ta)), vb,
           "'b' defined here");
  Extents shape = ta.shape();
  shape.back() = tb.shape().back();
  if (!acc.given()) e.check_size(shape);
  const ir::ValueId vc = acc.given() ? e.value(*acc.handle, "acc") : e.integer(ir_type(acc_type).with_shape(shape), 0);
  std::vector<ir::Attr> attrs;
  if (precision != Precision::standard) attrs.push_back(ir::Attr{ir::AttrName::precision, static_cast<std::int64_t>(precision), {}});
  const ir::ValueId operands[] = {va, vb, vc};
  return made(e.trace().function().result(e.b().create(ir::OpKind::dot_, operands, std::move(attrs))));
}

Made dot_scaled(const Handle& a, const Handle& a_scale, const Handle& b, const Handle& b_scale, const Maybe& acc, const Here& at) {
  Emit e("dot_scaled", at);
  const ir::ValueId va = e.value(a, "a"), vas = e.value(a_scale, "a_scale"), vb = e.value(b, "b"), vbs = e.value(b_scale, "b_scale");
  ir::ValueId vc;
  if (acc.given()) {
    vc = e.value(*acc.handle, "acc");
  } else {
    // As in dot, the shape of the accumulator requires operands of rank 2. The type rule checks the rest.
    const ir::Type ta = e.type(va), tb = e.type(vb);
    if (ta.rank() != 2) e.fail(fmt::format("'a' is {}; it must be [M, K]", ir::shape_text(ta)), va, "'a' defined here");
    if (tb.rank() != 2) e.fail(fmt::format("'b' is {}; it must be [K, N]", ir::shape_text(tb)), vb, "'b' defined here");
    const Extents shape{ta.extent(0), tb.extent(1)};
    e.check_size(shape);
    vc = e.integer(ir::Type(ir::Element::f32, shape), 0);
  }
  const ir::ValueId operands[] = {va, vas, vb, vbs, vc};
  return made(e.trace().function().result(e.b().create(ir::OpKind::dot_scaled_, operands)));
}

}  // namespace tilewright::detail
