// Traces loads and stores, through pointers and through views.
#include "tilewright/ops/memory.h"

#include <fmt/format.h>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"
#include "tilewright/detail/enumerator.h"

namespace tilewright::detail {

static_assert(static_cast<int>(Cache::write_through) == static_cast<int>(ir::Cache::write_through) &&
              static_cast<int>(Cache::streaming) == static_cast<int>(ir::Cache::streaming) &&
              static_cast<int>(Evict::last) == static_cast<int>(ir::Evict::last));

namespace {

template <class Options>
std::vector<ir::Attr> attributes(const Emit& e, const Options& o) {
  for (const std::string& mistake :
       {enumerator_mistake("cache", o.cache, Cache::write_through, "Cache"), enumerator_mistake("evict", o.evict, Evict::last, "Evict")})
    if (!mistake.empty()) e.fail(mistake);
  std::vector<ir::Attr> attrs;
  if (o.cache != Cache::standard) attrs.push_back(ir::Attr{ir::AttrName::cache, static_cast<std::int64_t>(o.cache), {}});
  if (o.evict != Evict::normal) attrs.push_back(ir::Attr{ir::AttrName::evict, static_cast<std::int64_t>(o.evict), {}});
  if (o.is_volatile) attrs.push_back(ir::Attr{ir::AttrName::is_volatile, 1, {}});
  return attrs;
}

/// A mask or a value to load or store, in the shape of the pointer.
ir::ValueId mask_onto(Emit& e, const Maybe& mask, ir::ValueId pointer) {
  return e.argument_onto(mask, ir::Element::boolean, "mask", pointer, "pointer");
}
ir::ValueId elements_onto(Emit& e, const Maybe& m, std::string_view name, ir::ValueId pointer) {
  return e.argument_onto(m, e.type(pointer).element(), name, pointer, "pointer");
}

/// `load` with arguments that were already checked.
ir::ValueId emit_load(Emit& e, ir::ValueId pointer, ir::ValueId mask, ir::ValueId other, std::vector<ir::Attr> attrs) {
  std::vector<ir::ValueId> operands{pointer};
  if (mask) operands.push_back(mask);
  if (mask && other) operands.push_back(other);
  return e.trace().function().result(e.b().create(ir::OpKind::load_, operands, std::move(attrs)));
}

/// The addresses of a tile of a view, and the mask of the elements inside of the view.
struct Block {
  ir::ValueId pointer, mask;
};
Block block_of(Emit& e, const ViewOf& view, std::span<const Offset> offsets, std::span<const std::int64_t> shape) {
  ir::Builder& b = e.b();
  if (shape.size() != offsets.size())
    e.fail(fmt::format("the view has {} {} and the tile is {}", offsets.size(), offsets.size() == 1 ? "axis" : "axes", text_of(shape)));
  Block block{e.value(view.base, "view"), {}};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const ir::ValueId offset = e.integer_input(offsets[i], ir::Element::i64, "offset");
    if (!e.type(offset).is_scalar())
      e.fail(fmt::format("the offset of axis {} is {}; it must be a scalar", i, ir::shape_text(e.type(offset))), offset,
             "offset defined here");
    // Each axis is computed as a tile of one axis and broadcast later, so its arithmetic is that of one row instead of the whole tile.
    Extents line(shape.size(), 1);
    line[i] = shape[i];
    const auto broadcast = [&](ir::ValueId v) { return e.broadcast(v, line); };
    const ir::ValueId lanes = b.cast(b.reshape(b.arange(0, shape[i]), line), ir::Element::i64);
    const ir::ValueId index = b.binary(ir::OpKind::add_, broadcast(offset), lanes);
    const ir::ValueId stride = broadcast(e.value(view.strides[i], "view"));
    const ir::ValueId extent = broadcast(e.value(view.extents[i], "view"));
    const ir::ValueId inside = b.binary(ir::OpKind::bit_and_, b.binary(ir::OpKind::ge_, index, e.integer(e.type(index), 0)),
                                        b.binary(ir::OpKind::lt_, index, extent));
    ir::ValueId step[] = {block.pointer, b.binary(ir::OpKind::mul_, index, stride)};
    constexpr std::string_view names[] = {"view", "offset"};
    e.broadcast_all(step, names);
    block.pointer = b.add_ptr(step[0], step[1]);
    if (!block.mask) {
      block.mask = inside;
    } else {
      ir::ValueId both[] = {block.mask, inside};
      e.broadcast_all(both, names);
      block.mask = b.binary(ir::OpKind::bit_and_, both[0], both[1]);
    }
  }
  return block;
}

}  // namespace

Made load(const Handle& pointer, const Maybe& mask, const Maybe& other, const LoadOptions& options, const Here& at) {
  Emit e("load", at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  const ir::ValueId m = mask.given() ? mask_onto(e, mask, p) : ir::ValueId{};
  const ir::ValueId o = other.given() ? elements_onto(e, other, "other", p) : ir::ValueId{};
  return made(emit_load(e, p, m, o, attributes(e, options)));
}

void store(const Handle& pointer, const Maybe& value, const Maybe& mask, const StoreOptions& options, const Here& at) {
  Emit e("store", at);
  e.expect_no_combine();
  const ir::ValueId p = e.value(pointer, "pointer");
  std::vector<ir::ValueId> operands{p, elements_onto(e, value, "value", p)};
  if (mask.given()) operands.push_back(mask_onto(e, mask, p));
  e.b().create(ir::OpKind::store_, operands, attributes(e, options));
}

Made view_load(const ViewOf& view, std::span<const Offset> offsets, const Shape& shape, const Maybe& other, const Here& at) {
  Emit e("view load", at);
  e.expect_no_combine();
  const Block block = block_of(e, view, offsets, e.checked(shape));
  const ir::ValueId o = other.given() ? elements_onto(e, other, "other", block.pointer) : ir::ValueId{};
  return made(emit_load(e, block.pointer, block.mask, o, {}));
}

void view_store(const ViewOf& view, std::span<const Offset> offsets, const Handle& tile, const Here& at) {
  Emit e("view store", at);
  e.expect_no_combine();
  const ir::ValueId v = e.value(tile, "tile");
  const Block block = block_of(e, view, offsets, e.type(v).shape());
  std::vector<ir::ValueId> operands{block.pointer, v};
  if (block.mask) operands.push_back(block.mask);
  e.b().create(ir::OpKind::store_, operands);
}

Made view_pointer(const Handle& base, std::span<const Tile<std::int64_t>> strides, std::span<const Offset> indices, const Here& at) {
  Emit e("view pointer", at);
  e.expect_no_combine();
  constexpr std::string_view names[] = {"pointer", "index"};
  ir::ValueId pointer = e.value(base, "view");
  for (std::size_t axis = 0; axis < indices.size(); ++axis) {
    const ir::ValueId index = e.integer_input(indices[axis], ir::Element::i64, "index");
    ir::ValueId factors[] = {index, e.value(strides[axis], "view")};
    e.broadcast_all(factors, names);
    ir::ValueId step[] = {pointer, e.b().binary(ir::OpKind::mul_, factors[0], factors[1])};
    e.broadcast_all(step, names);
    pointer = e.b().add_ptr(step[0], step[1]);
  }
  return made(pointer);
}

}  // namespace tilewright::detail
