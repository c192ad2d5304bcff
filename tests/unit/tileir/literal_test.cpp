// Text of constants: printing and parsing.
#include "tileir/text/literal.h"

#include <doctest/doctest.h>

#include <bit>
#include <random>

#include "tileir/builder.h"

using namespace tilewright::ir;

namespace {
void check_reads_back(Element e, std::uint64_t bits) {
  const std::string s = literal(Type(e), bits);
  const ParsedLiteral back = parse_literal(Type(e), s);
  if (!back.error.empty() || back.bits != bits) FAIL_CHECK(text(e) << " " << bits << " is written " << s << "; " << back.error);
}
std::string error(Element e, std::string_view word) { return parse_literal(Type(e), word).error; }
}  // namespace

TEST_CASE("literal: every 1-, 8- and 16-bit constant reads back") {
  for (int i = 0; i < kElementCount; ++i) {
    const Element e = static_cast<Element>(i);
    if (bits(e) <= 16)
      for (std::uint64_t v = 0; v < std::uint64_t{1} << bits(e); ++v) check_reads_back(e, v);
  }
}

TEST_CASE("literal: 32- and 64-bit constants read back, special ones included") {
  std::mt19937_64 random(1);
  for (Element e : {Element::i32, Element::u32, Element::f32, Element::i64, Element::u64, Element::f64}) {
    const std::uint64_t all = bits(e) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(e)) - 1;
    const std::uint64_t inf = bits(e) == 64 ? 0x7ff0000000000000u : 0x7f800000u, sign = (all >> 1) + 1;
    for (std::uint64_t v : {std::uint64_t{0}, std::uint64_t{1}, all, all >> 1, sign, sign | 1, inf, inf - 1, inf + 1, inf | sign})
      check_reads_back(e, v);
    for (int i = 0; i < 3000; ++i) {
      check_reads_back(e, random() & all);
      check_reads_back(e, (random() & all) >> (random() % static_cast<unsigned>(bits(e))));
    }
  }
}

TEST_CASE("literal: spellings") {
  CHECK(literal(Type(Element::i8), 0xff) == "-1");
  CHECK(literal(Type(Element::u8), 0xff) == "255");
  CHECK(literal(Type(Element::u64), ~std::uint64_t{0}) == "18446744073709551615");
  CHECK(literal(Type(Element::boolean), 1) == "true");
  CHECK(literal(Type(Element::f32), 0x3f800000) == "1.0");
  CHECK(literal(Type(Element::f32), 0x80000000) == "-0.0");
  CHECK(literal(Type(Element::f32), 0x3dcccccd) == "0.1");
  CHECK(literal(Type(Element::f16), element_bits(Element::f16, 0.1)) == "0.1");
  CHECK(literal(Type(Element::f16), element_bits(Element::f16, 65504.0)) == "65504.0");
  CHECK(literal(Type(Element::f32), 0xff800000) == "-inf");
  CHECK(literal(Type(Element::f32), 0x7fc00000) == "nan");
  CHECK(literal(Type(Element::f32), 0x7fc00001) == "0x7fc00001");
  CHECK(literal(Type(Element::f64), std::bit_cast<std::uint64_t>(1e300)) == "1e+300");
  CHECK(literal(Type::pointer(Element::f32, false), 0) == "0");
}

TEST_CASE("literal: what does not fit is refused") {
  CHECK(error(Element::u8, "256") == "256 does not fit u8");
  CHECK(error(Element::u8, "-1") == "-1 does not fit u8");
  CHECK(error(Element::u64, "-1") == "'-1' is not a value of type u64");
  CHECK(error(Element::i64, "9223372036854775808") == "9223372036854775808 does not fit i64");
  CHECK(error(Element::u64, "18446744073709551616") == "18446744073709551616 does not fit u64");
  CHECK(error(Element::i32, "1.5") == "'1.5' is not a value of type i32");
  CHECK(error(Element::boolean, "2") == "'2' is not a value of type i1; expected true or false");
  CHECK(error(Element::f32, "1e39") == "1e39 is out of range for f32");
  CHECK(error(Element::f16, "65520") == "65520 is out of range for f16");
  CHECK(error(Element::f16, "65519").empty());
  CHECK(error(Element::f8e4m3, "inf") == "f8e4m3 has no inf");
  CHECK(error(Element::f32, "infinity") == "'infinity' is not a value of type f32");
  CHECK(error(Element::f32, "x") == "'x' is not a value of type f32");
  CHECK(error(Element::f16, "0x10000") == "0x10000 does not fit the 16 bits of f16");
  CHECK(error(Element::f64, "0x10000000000000000") == "0x10000000000000000 does not fit the 64 bits of f64");
  CHECK(error(Element::f16, "0xg") == "'0xg' is not a number");
  CHECK(error(Element::f16, "0x") == "'0x' is not a number");
  CHECK(parse_literal(Type::pointer(Element::f32, false), "1").error == "'1' is not a pointer; a pointer constant is 0");
}
