// sort, argsort and topk. All are one op; if indices are needed, they are its value.
#include "tilewright/ops/sort.h"

#include <fmt/format.h>

#include <bit>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

/// The tile to sort. Throws Error for a scalar.
ir::ValueId rows(Emit& e, const Handle& t, std::string_view name) {
  e.expect_no_combine();
  const ir::ValueId x = e.value(t, name);
  if (e.type(x).is_scalar())
    e.fail(fmt::format("'{}' is a scalar; it must have an axis to sort along", name), x, fmt::format("'{}' defined here", name));
  return x;
}

ir::OpId emit_sort(Emit& e, std::span<const ir::ValueId> tiles, bool descending, std::int64_t count = 0) {
  std::vector<ir::Attr> attrs;
  if (descending) attrs.push_back(ir::Attr{ir::AttrName::descending, 1, {}});
  if (count > 0) attrs.push_back(ir::Attr{ir::AttrName::count, count, {}});
  return e.b().create(ir::OpKind::sort_, tiles, std::move(attrs));
}

/// 0, 1, ... along the last axis, in the shape of x.
ir::ValueId indices(Emit& e, ir::ValueId x) {
  const Extents shape = e.type(x).shape();
  return e.broadcast(e.b().arange(0, shape.back()), shape);
}

}  // namespace

Made sort(const Handle& t, bool descending, const Here& at) {
  Emit e("sort", at);
  const ir::ValueId x = rows(e, t, "t");
  return made(e.trace().function().result(emit_sort(e, std::span(&x, 1), descending)));
}

std::pair<Made, Made> sort(const Handle& keys, const Handle& values, bool descending, const Here& at) {
  Emit e("sort", at);
  const ir::ValueId tiles[] = {rows(e, keys, "keys"), e.value(values, "values")};
  if (!e.type(tiles[1]).same_shape(e.type(tiles[0])))
    e.fail(fmt::format("'values' is {}; its shape must be {} as that of 'keys'", ir::shape_text(e.type(tiles[1])),
                       ir::shape_text(e.type(tiles[0]))),
           tiles[1], "'values' defined here");
  const ir::OpId op = emit_sort(e, tiles, descending);
  return {made(e.trace().function().result(op, 0)), made(e.trace().function().result(op, 1))};
}

Made argsort(const Handle& t, bool descending, const Here& at) {
  Emit e("argsort", at);
  const ir::ValueId x = rows(e, t, "t");
  const ir::ValueId tiles[] = {x, indices(e, x)};
  return made(e.trace().function().result(emit_sort(e, tiles, descending), 1));
}

std::pair<Made, Made> topk(const Handle& t, std::int64_t k, const Here& at) {
  Emit e("topk", at);
  const ir::ValueId x = rows(e, t, "t");
  const std::int64_t extent = e.type(x).shape().back();
  if (k < 1 || k > extent || !std::has_single_bit(static_cast<std::uint64_t>(k)))
    e.fail(fmt::format("k is {}; it must be a power of two from 1 to {}, since 't' is {}", k, extent, ir::shape_text(e.type(x))), x,
           "'t' defined here");
  const ir::ValueId tiles[] = {x, indices(e, x)};
  const ir::OpId op = emit_sort(e, tiles, true, k);
  return {made(e.trace().function().result(op, 0)), made(e.trace().function().result(op, 1))};
}

}  // namespace tilewright::detail
