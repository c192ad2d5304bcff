// The table of element types, and tile types.
#include "tileir/type.h"
#include "tileir/op_kind.h"

#include <doctest/doctest.h>

#include "tileir/op_info.h"

using namespace tilewright::ir;

namespace {
Type tile(Element e, std::vector<std::int64_t> shape) { return Type(e, shape); }
}  // namespace

TEST_CASE("type: every element's spelling reads back, and its kind is one of four") {
  for (int i = 0; i < kElementCount; ++i) {
    const Element e = static_cast<Element>(i);
    CHECK(parse_element(text(e)) == e);
    CHECK((e == Element::boolean) + is_signed(e) + is_unsigned(e) + is_float(e) == 1);
    CHECK(bytes(e) == (bits(e) < 8 ? 1 : bits(e) / 8));
    if (is_integer(e)) CHECK(integer(bits(e), is_signed(e)) == e);
  }
  CHECK_FALSE(parse_element("f17"));
  CHECK_FALSE(parse_element(""));
}

TEST_CASE("type: text is the spelling of the textual IR") {
  CHECK(text(Type(Element::i32)) == "i32");
  CHECK(text(tile(Element::f8e4m3, {64, 32})) == "f8e4m3[64, 32]");
  CHECK(text(Type::pointer(Element::f16, true)) == "ptr<const f16>");
  const std::int64_t shape[] = {1, 8};
  CHECK(text(Type::pointer(Element::boolean, false, shape)) == "ptr<i1>[1, 8]");
  const std::int64_t box[] = {1, 128, 64};
  const Type map = Type::tensor_map(Element::f16, box);
  CHECK(text(map) == "tensor_map<f16>[1, 128, 64]");
  CHECK(map.is_scalar());
  CHECK(map.box() == std::vector<std::int64_t>{1, 128, 64});
  CHECK(map != Type::tensor_map(Element::f16, std::span(box).subspan(1)));
  CHECK(shape_text(Type(Element::i32)) == "a scalar");
  CHECK(shape_text(tile(Element::i32, {4, 1})) == "[4, 1]");
}

TEST_CASE("type: shapes and elements change independently") {
  const Type t = tile(Element::f32, {64, 1, 8});
  CHECK(t.rank() == 3);
  CHECK(t.elements() == 512);
  CHECK(t.log2_extent(0) == 6);
  CHECK(t.shape() == std::vector<std::int64_t>{64, 1, 8});
  CHECK(t.with_element(Element::i8) == tile(Element::i8, {64, 1, 8}));
  CHECK(t.scalar() == Type(Element::f32));
  const Type p = Type::pointer(Element::f32, true, t.shape());
  CHECK(p.pointee() == t);
  CHECK(p.scalar() == Type::pointer(Element::f32, true));
  CHECK(p != Type::pointer(Element::f32, false, t.shape()));
  CHECK(p.same_shape(t));
  CHECK_FALSE(p.is_float());
  CHECK_FALSE(p.with_element(Element::f16).is_pointer());
}

TEST_CASE("type: types that differ have different keys") {
  CHECK(tile(Element::f32, {8}) != tile(Element::f32, {8, 1}));
  CHECK(tile(Element::f32, {8}) != tile(Element::f32, {1, 8}));
  CHECK(tile(Element::f32, {}) == Type(Element::f32));
  CHECK(std::hash<Type>{}(tile(Element::f32, {8})) == std::hash<Type>{}(tile(Element::f32, {8})));
}

TEST_CASE("op_info: names read back, and rows are consistent") {
  for (OpKind k : all_ops()) {
    const OpInfo& row = info(k);
    CAPTURE(row.name);
    CHECK(parse_op(row.name) == k);
    CHECK_FALSE(row.documentation.empty());
    // Optional operands are last, and so is a variadic one.
    for (std::size_t i = 0; i + 1 < row.operands.size(); ++i) {
      CHECK_FALSE(row.operands[i].variadic);
      if (row.operands[i].optional) CHECK(row.operands[i + 1].optional);
    }
    CHECK_FALSE((row.has(kPure) && (row.has(kReads) || row.has(kWrites))));
    // The parser distinguishes attributes from regions by the first word.
    CHECK_FALSE(parse_attr(row.name));
    for (const AttrInfo& a : row.attributes) CHECK(parse_attr(text(a.name)) == a.name);
  }
  CHECK_FALSE(parse_op("no_such_op"));
}

TEST_CASE("op_info: operand counts follow the marks") {
  CHECK(info(OpKind::load_).min_operands() == 1);
  CHECK(info(OpKind::load_).max_operands() == 3);
  CHECK(info(OpKind::for_).min_operands() == 3);
  CHECK(info(OpKind::for_).max_operands() == kAny);
  CHECK(info(OpKind::for_).operand_name(7) == "init");
  CHECK(info(OpKind::load_).operand_name(1) == "mask");
}
