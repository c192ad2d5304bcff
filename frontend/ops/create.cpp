// Traces program ids, creation and shape operations.
#include "tilewright/ops/create.h"

#include <fmt/format.h>

#include <array>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"

namespace tilewright::detail {

namespace {

constexpr std::string_view kT = "t";
constexpr std::string_view kPair[] = {"a", "b"};

Made program(ir::OpKind kind, std::int64_t axis, const Here& at) {
  Emit e(ir::text(kind), at);
  const ir::OpId op = e.b().create(kind, {}, {ir::Attr{ir::AttrName::axis, axis, {}}});
  return made(e.trace().function().result(op));
}

std::array<ir::ValueId, 2> pair(Emit& e, const Handle& a, const Handle& b) { return {e.value(a, kPair[0]), e.value(b, kPair[1])}; }

}  // namespace

Made program_id(std::int64_t axis, const Here& at) { return program(ir::OpKind::program_id_, axis, at); }
Made num_programs(std::int64_t axis, const Here& at) { return program(ir::OpKind::num_programs_, axis, at); }

Made arange(std::int64_t lo, std::int64_t hi, const Here& at) { return made(Emit("arange", at).b().arange(lo, hi)); }

Made constant(Scalar value, TypeCode type, const Here& at) {
  return made(Emit("constant", at).constant(value, static_cast<ir::Element>(type.element)));
}

Made full(const char* name, const Shape& shape, const Input& value, TypeCode type) {
  Emit e(name, value.at);
  const Extents extents = e.checked(shape);
  const ir::Element element = static_cast<ir::Element>(type.element);
  if (value.handle == nullptr) return made(e.constant(value.constant, element, extents));
  const ir::ValueId v = e.b().cast(e.value(*value.handle, "value"), element);
  if (!broadcasts(e.type(v).shape(), extents))
    e.fail(fmt::format("'value' is {} and does not broadcast to {}", ir::shape_text(e.type(v)), text_of(extents)), v,
           "'value' defined here");
  return made(e.broadcast(v, extents));
}

Made full_like(const char* name, const Handle& like, const Input& value, TypeCode type) {
  Emit e(name, value.at);
  const ir::ValueId t = e.value(like, kT);
  const ir::Element element = static_cast<ir::Element>(type.element);
  if (value.handle == nullptr) return made(e.constant(value.constant, element, e.type(t).shape()));
  return made(e.broadcast_onto(e.b().cast(e.value(*value.handle, "value"), element), "value", t, kT));
}

Made column(const Handle& t, const Here& at) {
  Emit e("column", at);
  const ir::ValueId v = e.value(t, kT);
  if (e.type(v).rank() != 1) e.fail(fmt::format("'t' is {}; it must have one axis", ir::shape_text(e.type(v))), v, "'t' defined here");
  return made(e.b().reshape(v, Extents{e.type(v).extent(0), 1}));
}

Made row(const Handle& t, const Here& at) {
  Emit e("row", at);
  const ir::ValueId v = e.value(t, kT);
  if (e.type(v).rank() != 1) e.fail(fmt::format("'t' is {}; it must have one axis", ir::shape_text(e.type(v))), v, "'t' defined here");
  return made(e.b().reshape(v, Extents{1, e.type(v).extent(0)}));
}

Made transpose(const Handle& t, const Here& at) {
  Emit e("transpose", at);
  const ir::ValueId v = e.value(t, kT);
  const int rank = e.type(v).rank();
  if (rank < 2) e.fail(fmt::format("'t' is {}; it must have two axes or more", ir::shape_text(e.type(v))), v, "'t' defined here");
  Extents axes(rank);
  for (int i = 0; i < rank; ++i) axes[i] = i;
  std::swap(axes[rank - 1], axes[rank - 2]);
  return made(e.b().permute(v, axes));
}

Made ravel(const Handle& t, const Here& at) {
  Emit e("ravel", at);
  const ir::ValueId v = e.value(t, kT);
  return made(e.b().reshape(v, Extents{e.type(v).elements()}));
}

Made expand_dims(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("expand_dims", at);
  const ir::ValueId v = e.value(t, kT);
  Extents shape = e.type(v).shape();
  if (shape.size() == static_cast<std::size_t>(ir::kMaxRank))
    e.fail(fmt::format("'t' is {}; a tile has at most 5 axes", text_of(shape)), v, "'t' defined here");
  const std::int64_t count = static_cast<std::int64_t>(shape.size()) + 1;
  if (axis < -count || axis >= count)
    e.fail(fmt::format("axis {} is out of range: '{}' is {}, so it must be from {} to {}", axis, kT, text_of(shape), -count, count - 1), v,
           "'t' defined here");
  shape.insert(shape.begin() + (axis < 0 ? axis + count : axis), 1);
  return made(e.b().reshape(v, shape));
}

Made squeeze(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("squeeze", at);
  const ir::ValueId v = e.value(t, kT);
  Extents shape = e.type(v).shape();
  const int i = e.axis(axis, static_cast<int>(shape.size()), v, kT);
  if (shape[i] != 1)
    e.fail(fmt::format("extent {} of axis {} of 't', which is {}, must be 1", shape[i], i, text_of(shape)), v, "'t' defined here");
  shape.erase(shape.begin() + i);
  return made(e.b().reshape(v, shape));
}

Made broadcast_to(const Handle& t, const Shape& shape, const Here& at) {
  Emit e("broadcast_to", at);
  const ir::ValueId v = e.value(t, kT);
  const Extents extents = e.checked(shape);
  if (!broadcasts(e.type(v).shape(), extents))
    e.fail(fmt::format("'t' is {} and does not broadcast to {}", ir::shape_text(e.type(v)), text_of(extents)), v, "'t' defined here");
  return made(e.broadcast(v, extents));
}

Made reshape(const Handle& t, const Shape& shape, const Here& at) {
  Emit e("reshape", at);
  const ir::ValueId v = e.value(t, kT);
  const Extents extents = e.checked(shape);
  std::int64_t elements = 1;
  for (std::int64_t n : extents) elements *= n;
  if (elements != e.type(v).elements())
    e.fail(fmt::format("'t' is {} with {} elements; {} has {}", ir::shape_text(e.type(v)), e.type(v).elements(),
                       extents.empty() ? "a scalar" : "shape " + text_of(extents), elements),
           v, "'t' defined here");
  return made(e.b().reshape(v, extents));
}

Made permute(const Handle& t, const Shape& axes, const Here& at) {
  Emit e("permute", at);
  const ir::ValueId v = e.value(t, kT);
  const int rank = e.type(v).rank();
  const std::string list = fmt::format("[{}]", fmt::join(axes.begin(), axes.end(), ", "));
  if (axes.size() != static_cast<std::size_t>(rank))
    e.fail(fmt::format("'t' is {}; axes {} must name each of its {} axes once", ir::shape_text(e.type(v)), list, rank), v,
           "'t' defined here");
  Extents order;
  for (std::int64_t axis : axes) {
    const int i = e.axis(axis, rank, v, kT);
    for (std::int64_t seen : order)
      if (seen == i) e.fail(fmt::format("axes {} name axis {} twice", list, i), v, "'t' defined here");
    order.push_back(i);
  }
  return rank == 0 ? made(v) : made(e.b().permute(v, order));
}

Made flip(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("flip", at);
  const ir::ValueId v = e.value(t, kT);
  const int i = e.axis(axis, e.type(v).rank(), v, kT);
  return made(e.trace().function().result(e.b().create(ir::OpKind::flip_, std::span(&v, 1), {ir::Attr{ir::AttrName::axis, i, {}}})));
}

Made join(const Handle& a, const Handle& b, const Here& at) {
  Emit e("join", at);
  std::array<ir::ValueId, 2> v = pair(e, a, b);
  e.broadcast_all(v, kPair);
  return made(e.b().binary(ir::OpKind::join_, v[0], v[1]));
}

std::pair<Made, Made> split(const Handle& t, const Here& at) {
  Emit e("split", at);
  const ir::ValueId v = e.value(t, kT);
  const ir::Type type = e.type(v);
  if (type.is_scalar() || type.extent(type.rank() - 1) != 2)
    e.fail(fmt::format("'t' is {}; its last axis must have extent 2", ir::shape_text(type)), v, "'t' defined here");
  const ir::Function& f = e.trace().function();
  const ir::OpId op = e.b().create(ir::OpKind::split_, std::span(&v, 1));
  return {made(f.result(op, 0)), made(f.result(op, 1))};
}

Made interleave(const Handle& a, const Handle& b, const Here& at) {
  Emit e("interleave", at);
  std::array<ir::ValueId, 2> v = pair(e, a, b);
  e.broadcast_all(v, kPair);
  Extents shape = e.type(v[0]).shape();
  if (shape.empty()) return made(e.b().binary(ir::OpKind::join_, v[0], v[1]));
  shape.back() *= 2;
  e.check_size(shape);
  // Reshaped to one axis, because join adds an axis and the rank is limited.
  for (ir::ValueId& x : v) x = e.b().reshape(x, Extents{e.type(x).elements()});
  return made(e.b().reshape(e.b().binary(ir::OpKind::join_, v[0], v[1]), shape));
}

Made cat(const Handle& a, const Handle& b, std::int64_t axis, const Here& at) {
  Emit e("cat", at);
  const std::array<ir::ValueId, 2> v = pair(e, a, b);
  const int i = e.axis(axis, e.type(v[0]).rank(), v[0], kPair[0]);
  return made(e.trace().function().result(e.b().create(ir::OpKind::cat_, v, {ir::Attr{ir::AttrName::axis, i, {}}})));
}

int rank(const Handle& t, const Here& at) {
  Emit e("rank", at);
  return e.type(e.value(t, kT)).rank();
}

std::int64_t extent(const Handle& t, std::int64_t axis, const Here& at) {
  Emit e("extent", at);
  const ir::ValueId v = e.value(t, kT);
  return e.type(v).extent(e.axis(axis, e.type(v).rank(), v, kT));
}

}  // namespace tilewright::detail
