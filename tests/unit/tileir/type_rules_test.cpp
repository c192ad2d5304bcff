// Type rules: accepted operands, and error messages.
#include "tileir/type_rules/type_rules.h"
#include "tileir/op_kind.h"

#include <doctest/doctest.h>

#include <random>

#include "tileir/type.h"

using namespace tilewright::ir;

namespace {

/// A type from its text: "f32[64, 32]", "ptr<const f32>".
Type type(std::string_view s) {
  const std::size_t bracket = s.find('[');
  std::vector<std::int64_t> shape;
  if (bracket != std::string_view::npos)
    for (std::size_t at = bracket; s[at] != ']'; at = s.find_first_of(",]", at + 1))
      shape.push_back(std::stoll(std::string(s.substr(at + 1))));
  std::string_view word = s.substr(0, bracket);
  if (!word.starts_with("ptr<")) return Type(parse_element(word).value(), shape);
  word = word.substr(4, word.size() - 5);
  const bool is_const = word.starts_with("const ");
  return Type::pointer(parse_element(is_const ? word.substr(6) : word).value(), is_const, shape);
}

std::vector<Type> types(const std::vector<std::string_view>& words) {
  std::vector<Type> out;
  for (std::string_view w : words) out.push_back(type(w));
  return out;
}

/// The result types as text, or the message.
std::string result(std::string_view op, const std::vector<std::string_view>& operands, const std::vector<Attr>& attrs = {},
                   const std::vector<std::string_view>& declared = {}) {
  const std::vector<Type> in = types(operands), out = types(declared);
  const RuleResult r = infer({parse_op(op).value(), in, attrs, out});
  if (!r.ok()) return r.error;
  std::string s;
  for (Type t : r.types) s += (s.empty() ? "" : ", ") + text(t);
  return s;
}

Attr number(AttrName name, std::int64_t v) { return {name, v, {}}; }
Attr list(AttrName name, std::vector<std::int64_t> v) { return {name, 0, std::move(v)}; }

}  // namespace

TEST_CASE("type_rules: operand counts") {
  CHECK(result("add", {"f32"}) == "add: 1 operands; expected 2");
  CHECK(result("load", {}) == "load: 0 operands; expected 1 to 3");
  CHECK(result("for", {"i32"}) == "for: 1 operands; expected at least 3");
}

TEST_CASE("type_rules: attributes") {
  CHECK(result("program_id", {}) == "program_id: attribute 'axis' is missing");
  CHECK(result("add", {"f32", "f32"}, {number(AttrName::axis, 0)}) == "add: it has no attribute 'axis'");
  CHECK(result("program_id", {}, {number(AttrName::axis, 0), number(AttrName::axis, 1)}) == "program_id: attribute 'axis' is given twice");
  CHECK(result("program_id", {}, {list(AttrName::axis, {0})}) == "program_id: attribute 'axis' is a list; expected one value");
  CHECK(result("load", {"ptr<f32>"}, {number(AttrName::is_volatile, 2)}) == "load: attribute 'is_volatile' is 2; a flag is 0 or 1");
  CHECK(result("load", {"ptr<f32>"}, {number(AttrName::evict, 3)}) == "load: attribute 'evict' is symbol 3; there are 3");
  CHECK(result("load", {"ptr<f32>"}, {number(AttrName::evict, 2)}) == "f32");
}

TEST_CASE("type_rules: program and create") {
  CHECK(result("program_id", {}, {number(AttrName::axis, 2)}) == "i32");
  CHECK(result("num_programs", {}, {number(AttrName::axis, 3)}) == "num_programs: axis is 3; it must be 0, 1 or 2");
  CHECK(result("constant", {}, {number(AttrName::value, 255)}, {"u8[4]"}) == "u8[4]");
  CHECK(result("constant", {}, {number(AttrName::value, 256)}, {"u8[4]"}) == "constant: the bits 0x100 do not fit u8");
  CHECK(result("constant", {}, {number(AttrName::value, -1)}, {"u64"}) == "u64");
  CHECK(result("constant", {}, {number(AttrName::value, 0)}, {"ptr<f32>"}) == "ptr<f32>");
  CHECK(result("constant", {}, {number(AttrName::value, 16)}, {"ptr<f32>"}) == "constant: a pointer constant must be null, not 0x10");
  CHECK(result("constant", {}, {number(AttrName::value, 0)}) == "constant: 0 result types are stated; it must be 1");
}

TEST_CASE("type_rules: arange") {
  const auto arange = [](std::int64_t lo, std::int64_t hi) {
    return result("arange", {}, {number(AttrName::lo, lo), number(AttrName::hi, hi)});
  };
  CHECK(arange(0, 64) == "i32[64]");
  CHECK(arange(-1, 0) == "i32[1]");
  CHECK(arange(std::int64_t{INT32_MAX} - 1, std::int64_t{INT32_MAX} + 1) == "i32[2]");
  CHECK(arange(0, 100) == "arange: 100 elements; the number must be a power of two");
  CHECK(arange(4, 4) == "arange: from 4 to 4; the end must be above the start");
  CHECK(arange(0, std::int64_t{1} << 21) == "arange: the result i32[2097152] has 2^21 elements; a tile has at most 2^20");
  CHECK(arange(INT64_MIN, INT64_MAX) == "arange: from -9223372036854775808 to 9223372036854775807; the elements must fit i32");
}

TEST_CASE("type_rules: shape ops") {
  CHECK(result("reshape", {"f32[64, 2]"}, {}, {"f32[128]"}) == "f32[128]");
  CHECK(result("reshape", {"f32[1]"}, {}, {"f32"}) == "f32");
  CHECK(result("reshape", {"f32[64]"}, {}, {"f32[32]"}) == "reshape: 'x' is [64] with 64 elements; [32] has 32");
  CHECK(result("reshape", {"f32[64]"}, {}, {"f16[64]"}) == "reshape: 'x' is f32[64]; its elements cannot become those of f16[64]");
  CHECK(result("broadcast", {"ptr<f32>"}, {}, {"ptr<f32>[4, 4]"}) == "ptr<f32>[4, 4]");
  CHECK(result("broadcast", {"f32[64, 1]"}, {}, {"f32[64, 32]"}) == "f32[64, 32]");
  CHECK(result("broadcast", {"f32"}, {}, {"f16[4]"}) == "broadcast: 'x' is f32; its elements cannot become those of f16[4]");
  CHECK(result("broadcast", {"f32[64]"}, {}, {"f32[64, 32]"}) ==
        "broadcast: 'x' is [64]; it must be a scalar or have rank 2 to become [64, 32]");
  CHECK(result("broadcast", {"f32[64, 2]"}, {}, {"f32[64, 32]"}) ==
        "broadcast: 'x' is [64, 2]; extent 2 of axis 1 must be 1 or 32 to become [64, 32]");
  CHECK(result("broadcast", {"f32"}, {}, {"f32[1024, 1024, 1024, 1024, 1024]"}).find("2^50") != std::string::npos);
  CHECK(result("permute", {"f32[2, 4, 8]"}, {list(AttrName::axes, {2, 0, 1})}) == "f32[8, 2, 4]");
  CHECK(result("permute", {"f32[2, 4]"}, {list(AttrName::axes, {0, 0})}) ==
        "permute: axes are [0, 0]; each of the 2 axes of 'x', which is [2, 4], must be named once");
  CHECK(result("permute", {"f32[2, 4]"}, {list(AttrName::axes, {1, -1})}).find("permute: axes") == 0);
  CHECK(result("permute", {"f32[2]"}, {list(AttrName::axes, {0, 1})}).find("permute: axes") == 0);
}

TEST_CASE("type_rules: element-wise") {
  CHECK(result("add", {"i8[8]", "i8[8]"}) == "i8[8]");
  CHECK(result("add", {"i8[8]", "u8[8]"}) == "add: 'b' is u8[8]; it must be i8[8] as 'a' is");
  CHECK(result("mul", {"f8e4m3", "f8e4m3"}) == "mul: 'a' is f8e4m3; expected integers, f16, bf16, f32 or f64 (cast it first)");
  CHECK(result("neg", {"ptr<f32>"}) == "neg: 'x' is ptr<f32>; expected integers, f16, bf16, f32 or f64");
  CHECK(result("add", {"i1", "i1"}).find("add: 'a' is i1") == 0);
  CHECK(result("exp", {"bf16[2]"}) == "bf16[2]");
  CHECK(result("exp", {"i32"}) == "exp: 'x' is i32; expected f16, bf16, f32 or f64");
  CHECK(result("rem", {"f32", "f32"}) == "rem: 'a' is f32; expected integers");
  CHECK(result("umulhi", {"i32", "i32"}) == "umulhi: 'a' is i32; expected unsigned integers");
  CHECK(result("umulhi", {"u64", "u64"}) == "u64");
  CHECK(result("bit_not", {"i1[4]"}) == "i1[4]");
  CHECK(result("bit_xor", {"f32", "f32"}) == "bit_xor: 'a' is f32; expected integers or i1");
  CHECK(result("isnan", {"f16[4]"}) == "i1[4]");
  CHECK(result("popcount", {"u64[4]"}) == "i32[4]");
  CHECK(result("eq", {"i1", "i1"}) == "i1");
  CHECK(result("lt", {"f64[2]", "f64[2]"}) == "i1[2]");
  CHECK(result("lt", {"i1", "i1"}) == "lt: 'a' is i1; expected integers, f16, bf16, f32 or f64 (cast it first)");
  CHECK(result("eq", {"ptr<f32>", "ptr<f32>"}).find("eq: 'a' is ptr<f32>") == 0);
  CHECK(result("fma", {"f32[2]", "f32[2]", "f32[4]"}) == "fma: 'c' is [4]; its shape must be [2] as that of 'a'");
}

TEST_CASE("type_rules: select") {
  CHECK(result("select", {"i1[4]", "ptr<f32>[4]", "ptr<f32>[4]"}) == "ptr<f32>[4]");
  CHECK(result("select", {"i1[4]", "f8e5m2[4]", "f8e5m2[4]"}) == "f8e5m2[4]");
  CHECK(result("select", {"i32[4]", "f32[4]", "f32[4]"}) == "select: 'condition' is i32[4]; its elements must be i1");
  CHECK(result("select", {"i1", "f32[4]", "f32[4]"}) == "select: 'condition' is a scalar; its shape must be [4] as that of 'a'");
  CHECK(result("select", {"i1[4]", "f32[4]", "f16[4]"}) == "select: 'b' is f16[4]; it must be f32[4] as 'a' is");
}

TEST_CASE("type_rules: conversions") {
  CHECK(result("cast", {"f8e4m3[4]"}, {}, {"i1[4]"}) == "i1[4]");
  CHECK(result("cast", {"f32[4]"}, {}, {"f16[8]"}) == "cast: 'x' is [4]; its shape must be that of the result, [8]");
  CHECK(result("cast", {"ptr<f32>"}, {}, {"i64"}).find("cast: 'x' is ptr<f32>") == 0);
  CHECK(result("bitcast", {"ptr<f32>"}, {}, {"i64"}) == "i64");
  CHECK(result("bitcast", {"ptr<f32>"}, {}, {"ptr<const f32>"}) == "ptr<const f32>");
  CHECK(result("bitcast", {"f32"}, {}, {"u16"}) == "bitcast: 'x' is f32, 32 bits wide; the result u16 has 16");
  CHECK(result("bitcast", {"i1"}, {}, {"u8"}) == "bitcast: 'x' is i1, 1 bits wide; the result u8 has 8");
  CHECK(result("add_ptr", {"ptr<f32>[4]", "i64[4]"}) == "ptr<f32>[4]");
  CHECK(result("add_ptr", {"ptr<f32>", "i64[4]"}) == "add_ptr: 'offset' is [4]; its shape must be a scalar as that of 'pointer'");
  CHECK(result("add_ptr", {"f32", "i64"}) == "add_ptr: 'pointer' is f32; expected pointers");
  CHECK(result("add_ptr", {"ptr<f32>", "f32"}) == "add_ptr: 'offset' is f32; expected integers");
}

TEST_CASE("type_rules: memory") {
  CHECK(result("load", {"ptr<const f32>[4]", "i1[4]", "f32[4]"}) == "f32[4]");
  CHECK(result("load", {"f32"}) == "load: 'pointer' is f32; expected pointers");
  CHECK(result("load", {"ptr<f32>[4]", "i1"}) == "load: 'mask' is a scalar; its shape must be [4] as that of 'pointer'");
  CHECK(result("load", {"ptr<f32>[4]", "f32[4]"}) == "load: 'mask' is f32[4]; its elements must be i1");
  CHECK(result("load", {"ptr<f32>", "i1", "f16"}) == "load: 'other' is f16; it must be f32, which 'pointer' points to");
  CHECK(result("store", {"ptr<f32>[4]", "f32[4]", "i1[4]"}) == "");
  CHECK(result("store", {"ptr<const f32>", "f32"}) == "store: 'pointer' is ptr<const f32>, which may be loaded only");
  CHECK(result("store", {"ptr<f32>[4]", "f32"}) == "store: 'value' is f32; it must be f32[4], which 'pointer' points to");
}

TEST_CASE("type_rules: reduce") {
  const auto reduce = [](const std::vector<std::string_view>& in, std::int64_t axis) {
    return result("reduce", in, {number(AttrName::axis, axis)});
  };
  CHECK(reduce({"f32[2, 4, 8]", "i32[2, 4, 8]"}, 1) == "f32[2, 8], i32[2, 8]");
  CHECK(reduce({"f32[2]"}, 0) == "f32");
  CHECK(reduce({}, 0) == "reduce: there is nothing to reduce; expected at least one tile");
  CHECK(reduce({"f32"}, 0) == "reduce: 'x' is a scalar; it must have an axis to reduce");
  CHECK(reduce({"f32[2, 4]"}, 2) == "reduce: axis is 2; it must be 0 to 1, since 'x' is [2, 4]");
  CHECK(reduce({"f32[2]", "f32[4]"}, 0) == "reduce: 'x' 2 is [4]; its shape must be [2] as that of 'x' 1");
  CHECK(reduce({"ptr<f32>[2]"}, 0) == "reduce: 'x' is ptr<f32>[2]; pointers cannot be reduced");
}

TEST_CASE("type_rules: dot") {
  CHECK(result("dot", {"f16[16, 32]", "f16[32, 8]", "f32[16, 8]"}) == "f32[16, 8]");
  CHECK(result("dot", {"i8[2, 16, 32]", "i8[2, 32, 8]", "i32[2, 16, 8]"}) == "i32[2, 16, 8]");
  CHECK(result("dot", {"f64[1, 1]", "f64[1, 1]", "f64[1, 1]"}) == "f64[1, 1]");
  CHECK(result("dot", {"f16[16, 128]", "f16[64, 32]", "f32[16, 32]"}) ==
        "dot: 'b' is [64, 32]; its first extent must equal K = 128 of 'a'");
  CHECK(result("dot", {"f16[2, 16, 32]", "f16[4, 32, 8]", "f32[2, 16, 8]"}) ==
        "dot: 'b' is [4, 32, 8]; its batch extent must be 2 as that of 'a'");
  CHECK(result("dot", {"f16[16, 32]", "bf16[32, 8]", "f32[16, 8]"}) ==
        "dot: 'b' is bf16[32, 8]; its elements must be f16 as those of 'a' are");
  CHECK(result("dot", {"f16[16, 32]", "f16[32, 8]", "f16[16, 8]"}) ==
        "dot: 'acc' is f16[16, 8]; it must be f32[16, 8] for 'a' f16[16, 32] and 'b' f16[32, 8]");
  CHECK(result("dot", {"i16[16, 32]", "i16[32, 8]", "i32[16, 8]"}).find("dot: 'a' is i16[16, 32]; expected") == 0);
  CHECK(result("dot", {"f16[2, 16, 32]", "f16[32, 8]", "f32[2, 16, 8]"}) == "dot: 'b' is [32, 8]; it must have rank 3 as 'a' has");
  CHECK(result("dot", {"f16[32]", "f16[32]", "f32"}) == "dot: 'a' is [32]; it must be [M, K] or [batch, M, K]");
}

TEST_CASE("type_rules: control") {
  CHECK(result("for", {"i64", "i64", "i64", "f32[4]", "ptr<f32>"}) == "f32[4], ptr<f32>");
  CHECK(result("for", {"i32", "i64", "i32"}) == "for: 'hi' is i64; it must be i32 as 'lo' is");
  CHECK(result("for", {"u32", "u32", "u32"}) == "for: 'lo' is u32; it must be i32 or i64");
  CHECK(result("for", {"i32", "i32", "i32"}, {number(AttrName::num_stages, 9)}) == "for: num_stages is 9; it must be 1 to 8");
  CHECK(result("for", {"i32", "i32", "i32"}, {number(AttrName::unroll, -1)}) == "for: unroll is -1; it must not be negative");
  CHECK(result("if", {"i1"}, {}, {"f32", "i32[2]"}) == "f32, i32[2]");
  CHECK(result("if", {"i1[1]"}) == "if: 'condition' is i1[1]; it must be a scalar i1");
  CHECK(result("while", {"f32", "i32"}) == "f32, i32");
  CHECK(result("condition", {"i32"}) == "condition: 'condition' is i32; it must be a scalar i1");
  CHECK(result("yield", {"f32[4]"}) == "");
}

TEST_CASE("type_rules: stated types must be those that follow from the operands") {
  CHECK(result("add", {"f32", "f32"}, {}, {"f32"}) == "f32");
  CHECK(result("add", {"f32", "f32"}, {}, {"f64"}) == "add: result is stated as f64; it is f32");
  CHECK(result("add", {"f32", "f32"}, {}, {"f32", "f32"}) == "add: 2 result types are stated; it has 1");
  CHECK(result("store", {"ptr<f32>", "f32"}, {}, {"f32"}) == "store: 1 result types are stated; it has 0");
  CHECK(result("while", {"f32", "i32"}, {}, {"f32", "u32"}) == "while: result 1 is stated as u32; it is i32");
}

TEST_CASE("type_rules: the note points to the operand at fault") {
  const std::vector<Type> in = types({"f16[16, 128]", "f16[64, 32]", "f32[16, 32]"});
  CHECK(infer({OpKind::dot_, in, {}, {}}).note_operand == 1);
  CHECK(infer({OpKind::dot_, std::span(in).first(2), {}, {}}).note_operand == -1);
}

TEST_CASE("type_rules: any operands and attributes get an answer") {
  std::mt19937 random(1);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto any_type = [&] {
    std::vector<std::int64_t> shape;
    for (int i = below(4); i > 0; --i) shape.push_back(std::int64_t{1} << below(4));
    const Element e = static_cast<Element>(below(kElementCount));
    return below(5) == 0 ? Type::pointer(e, below(2), shape) : Type(e, shape);
  };
  int accepted = 0;
  for (int round = 0; round < 24000; ++round) {
    const OpKind k = all_ops()[static_cast<std::size_t>(below(static_cast<int>(all_ops().size())))];
    std::vector<Type> in, out;
    const Type repeated = any_type();
    for (int i = below(5); i > 0; --i) in.push_back(below(4) == 0 ? any_type() : repeated);
    for (int i = below(3); i > 0; --i) out.push_back(below(2) ? any_type() : repeated);
    std::vector<Attr> attrs;
    for (const AttrInfo& a : info(k).attributes)
      if (below(4) != 0)
        attrs.push_back({a.name, below(6) - 1, below(3) == 0 ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{}});
    const RuleResult r = infer({k, in, attrs, out});
    accepted += r.ok();
    CHECK(r.note_operand < static_cast<int>(in.size()));
    if (!r.ok()) CHECK(r.error.starts_with(std::string(text(k)) + ": "));
    if (r.ok() && info(k).results != kAny) CHECK(static_cast<int>(r.types.size()) == info(k).results);
  }
  CHECK(accepted > 500);
}
