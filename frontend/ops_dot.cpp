// The matrix product.
#include "tilewright/ops/dot.h"

#include <fmt/format.h>

#include "frontend/emit.h"

namespace tilewright::detail {

static_assert(static_cast<int>(Precision::ieee) == static_cast<int>(ir::Precision::ieee) &&
              static_cast<int>(Precision::tf32) == static_cast<int>(ir::Precision::tf32));

Made dot(const Handle& a, const Handle& b, const Maybe& acc, TypeCode acc_type, Precision precision, const Here& at) {
  Emit e("dot", at);
  const ir::ValueId va = e.value(a, "a"), vb = e.value(b, "b");
  const ir::Type ta = e.type(va), tb = e.type(vb);
  // An accumulator that is left out has the shape of the result, so ranks must make sense before the table's rule can be asked.
  if (ta.rank() != 2 && ta.rank() != 3)
    e.fail(fmt::format("'a' is {}; it must be [M, K], or [batch, M, K]", ir::shape_text(ta)), va, "'a' defined here");
  if (tb.rank() != ta.rank())
    e.fail(fmt::format("'b' is {} and 'a' is {}; they must have as many axes", ir::shape_text(tb), ir::shape_text(ta)), vb,
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

}  // namespace tilewright::detail
