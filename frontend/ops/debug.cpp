// Traces prints, assertions, hints and inline PTX.
#include "tilewright/ops/debug.h"

#include <fmt/format.h>

#include "frontend/trace/emit.h"
#include "tileir/op_kind.h"
#include "tileir/target/ptx_constraints.h"

namespace tilewright::detail {

namespace {

ir::Attr text_attribute(ir::AttrName name, const char* text) { return {name, 0, {}, text ? text : ""}; }

Made hint(ir::OpKind kind, ir::AttrName attribute, std::string_view what, const Handle& t, std::int64_t number, const Here& at) {
  Emit e(ir::text(kind), at);
  const ir::ValueId x = e.value(t, "t");
  if (number < 1) e.fail(fmt::format("the {} is {}; it must be positive", what, number));
  return made(e.trace().function().result(e.b().create(kind, std::span(&x, 1), {{attribute, number, {}, {}}})));
}

/// "x 1", "x 2", ...; only "x" if the count is 1.
std::vector<std::string> numbered(std::string_view name, std::size_t count) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(count == 1 ? std::string(name) : fmt::format("{} {}", name, i + 1));
  return out;
}

}  // namespace

void device_print(const Text& format, std::span<const Handle* const> tiles) {
  Emit e("device_print", format.at);
  e.expect_no_combine();
  const auto names = numbered("value", tiles.size());
  std::vector<ir::ValueId> values;
  for (std::size_t i = 0; i < tiles.size(); ++i) values.push_back(e.value(*tiles[i], names[i]));
  e.b().create(ir::OpKind::device_print_, values, {text_attribute(ir::AttrName::text, format.text)});
}

void device_assert(const Handle& condition, const Text& text, const Maybe& mask, const Handle* seen) {
  Emit e("device_assert", text.at);
  e.expect_no_combine();
  constexpr std::string_view names[] = {"condition", "mask", "seen"};
  std::vector<ir::ValueId> operands{e.value(condition, names[0])};
  if (mask.given()) operands.push_back(e.value(*mask.handle, names[1]));
  // The operand after the mask is the value that the message shows.
  if (seen && !mask.given()) operands.push_back(e.integer(e.type(operands[0]), 1));
  if (seen) operands.push_back(e.value(*seen, names[2]));
  if (operands.size() > 1) e.broadcast_all(operands, std::span(names).first(operands.size()));
  e.b().create(ir::OpKind::device_assert_, operands, {text_attribute(ir::AttrName::text, text.text)});
}

void assume(const Handle& condition, const Here& at) {
  Emit e("assume", at);
  e.expect_no_combine();
  const ir::ValueId x = e.value(condition, "condition");
  e.b().create(ir::OpKind::assume_, std::span(&x, 1));
}

Made multiple_of(const Handle& t, std::int64_t divisor, const Here& at) {
  return hint(ir::OpKind::multiple_of_, ir::AttrName::divisor, "divisor", t, divisor, at);
}
Made max_contiguous(const Handle& t, std::int64_t length, const Here& at) {
  return hint(ir::OpKind::max_contiguous_, ir::AttrName::length, "length", t, length, at);
}

Made inline_ptx(const Text& ptx, const char* constraints, std::span<const Handle* const> tiles, const Handle* fallback, TypeCode result) {
  Emit e("inline_ptx", ptx.at);
  e.expect_no_combine();
  const auto texts = numbered("x", tiles.size());
  const std::vector<std::string_view> names(texts.begin(), texts.end());
  std::vector<ir::ValueId> operands;
  for (std::size_t i = 0; i < tiles.size(); ++i) operands.push_back(e.value(*tiles[i], names[i]));
  const Extents shape = operands.empty() ? Extents{} : e.common_shape(operands, names);
  std::vector<ir::Type> types;
  for (ir::ValueId& v : operands) {
    v = e.broadcast(v, shape);
    types.push_back(e.type(v));
  }
  const ir::Type type = ir_type(result).with_shape(shape);
  const std::string wrong = ir::wrong_with_inline_ptx(ptx.text ? ptx.text : "", constraints ? constraints : "", type, types);
  if (!wrong.empty()) e.fail(wrong);
  std::vector<ir::Attr> attrs{text_attribute(ir::AttrName::text, ptx.text), text_attribute(ir::AttrName::constraints, constraints)};
  if (fallback) {
    const ir::ValueId v = e.value(*fallback, "result of the fallback");
    if (!broadcasts(e.type(v).shape(), shape))
      e.fail(fmt::format("the fallback gives {}; it must be {}, the shape of the operands", ir::shape_text(e.type(v)), text_of(shape)), v,
             "made here");
    operands.push_back(e.broadcast(v, shape));
    attrs.push_back(ir::Attr{ir::AttrName::has_fallback, 1, {}, {}});
  }
  return made(e.trace().function().result(e.b().create(ir::OpKind::inline_ptx_, operands, std::move(attrs), std::span(&type, 1))));
}

}  // namespace tilewright::detail
