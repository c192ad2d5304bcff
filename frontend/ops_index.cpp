// gather and histogram.
#include "tilewright/ops/index.h"

#include <fmt/format.h>

#include <bit>

#include "frontend/emit.h"

namespace tilewright::detail {

Made gather(const Handle& t, const Handle& index, std::int64_t axis, const Here& at) {
  Emit e("gather", at);
  e.expect_no_combine();
  const ir::ValueId tiles[] = {e.value(t, "t"), e.value(index, "index")};
  const ir::Type from = e.type(tiles[0]), by = e.type(tiles[1]);
  const int along = e.axis(axis, from.rank(), tiles[0], "t");
  constexpr const char* kNote = "'index' defined here";
  if (by.rank() != from.rank())
    e.fail(
        fmt::format("'index' is {}; it must have rank {} as 't' has, which is {}", ir::shape_text(by), from.rank(), ir::shape_text(from)),
        tiles[1], kNote);
  for (int i = 0; i < from.rank(); ++i)
    if (i != along && by.extent(i) != from.extent(i))
      e.fail(fmt::format("'index' is {}; extent {} of axis {} must be {} as that of 't', which is {}", ir::shape_text(by), by.extent(i), i,
                         from.extent(i), ir::shape_text(from)),
             tiles[1], kNote);
  return made(e.trace().function().result(e.b().create(ir::OpKind::gather_, tiles, {ir::Attr{ir::AttrName::axis, along, {}}})));
}

Made histogram(const Handle& t, std::int64_t bins, const Maybe& mask, const Here& at) {
  Emit e("histogram", at);
  e.expect_no_combine();
  const ir::ValueId x = e.value(t, "t");
  if (bins < 1 || bins > std::int64_t{1} << ir::kMaxLog2Elements || !std::has_single_bit(static_cast<std::uint64_t>(bins)))
    e.fail(fmt::format("{} bins; the number must be a power of two from 1 to 2^20 = 1048576", bins));
  std::vector<ir::ValueId> operands{x};
  if (mask.given()) operands.push_back(e.argument_onto(mask, ir::Element::boolean, "mask", x, "t"));
  return made(e.trace().function().result(e.b().create(ir::OpKind::histogram_, operands, {ir::Attr{ir::AttrName::bins, bins, {}}})));
}

}  // namespace tilewright::detail
