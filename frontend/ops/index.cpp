// Traces gather, roll and histogram.
#include "tilewright/ops/index.h"

#include <fmt/format.h>

#include <bit>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"

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

Made roll(const Handle& t, const Input& shift, std::optional<std::int64_t> axis, const Here& at) {
  Emit e("roll", at);
  e.expect_no_combine();
  ir::Builder& b = e.b();
  const ir::ValueId given = e.value(t, "t");
  const ir::Type type = e.type(given);
  if (!axis && type.is_scalar()) e.fail("'t' is a scalar and has no axes", given, "'t' defined here");
  const int along = axis ? e.axis(*axis, type.rank(), given, "t") : 0;
  const ir::ValueId x = axis ? given : b.reshape(given, Extents{type.elements()});
  const std::int64_t extent = e.type(x).extent(along);

  // The extent is a power of two, so the low bits of i - shift are the index, whatever the width of shift.
  Extents row(static_cast<std::size_t>(e.type(x).rank()), 1);
  row[static_cast<std::size_t>(along)] = extent;
  const ir::ValueId i = b.reshape(b.arange(0, extent), row);
  ir::ValueId by;
  if (shift.handle == nullptr) {
    by = e.integer(ir::Type(ir::Element::i32), static_cast<std::int64_t>(shift.constant.bits & static_cast<std::uint64_t>(extent - 1)));
  } else {
    const ir::ValueId s = e.value(*shift.handle, "shift");
    if (!e.type(s).is_scalar())
      e.fail(fmt::format("'shift' is {}; it must be a scalar", ir::shape_text(e.type(s))), s, "'shift' defined here");
    by = b.cast(s, ir::Element::i32);
  }
  const ir::ValueId moved = b.binary(ir::OpKind::sub_, i, b.broadcast(by, row));
  const ir::ValueId index = b.binary(ir::OpKind::bit_and_, moved, e.integer(e.type(moved), extent - 1));
  const ir::ValueId tiles[] = {x, b.broadcast(index, e.type(x).shape())};
  const ir::ValueId rolled = e.trace().function().result(b.create(ir::OpKind::gather_, tiles, {ir::Attr{ir::AttrName::axis, along, {}}}));
  return made(b.reshape(rolled, type.shape()));
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
