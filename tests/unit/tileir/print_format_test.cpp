// Format strings of device_print: errors, and formatting of values.
#include "tileir/text/print_format.h"

#include <doctest/doctest.h>

#include <bit>
#include <vector>

#include "tileir/builder.h"

namespace tilewright::ir {
namespace {

const std::int64_t kRow[] = {4}, kSquare[] = {2, 2};
const Type kF32(Element::f32), kI32(Element::i32);

/// The text with one value filled in, whose elements are `bits` in turn.
std::string filled(std::string_view text, const Type& t, const std::vector<std::uint64_t>& bits) {
  REQUIRE(wrong_with_print(text, std::span(&t, 1)).empty());
  return fill_print(text, std::span(&t, 1), [&](int, std::int64_t k) { return bits[static_cast<std::size_t>(k) % bits.size()]; });
}
std::uint64_t f32(float v) { return std::bit_cast<std::uint32_t>(v); }

TEST_CASE("print format: placeholders and values must match") {
  CHECK(wrong_with_print("a", {}).empty());
  const Type two[] = {kI32, kF32};
  CHECK(wrong_with_print("{} {:.2f} {{}}", two).empty());
  CHECK(wrong_with_print("{}", two) == "the text has 1 placeholder {} for 2 values");
  CHECK(wrong_with_print("{} {} {}", two) == "the text has 3 placeholders {} for 2 values");
  CHECK(wrong_with_print("{", {}) == "a { without }; a brace as such is {{");
  CHECK(wrong_with_print("}", {}) == "a } without {; a brace as such is }}");
  CHECK(wrong_with_print("{0} {1}", two).find("values have no names or numbers") != std::string::npos);
  CHECK(wrong_with_print("{:{}}", two).find("a { without }") != std::string::npos);
}

TEST_CASE("print format: a spec must suit the elements") {
  CHECK(wrong_with_print("{:x}", std::span(&kI32, 1)).empty());
  CHECK(wrong_with_print("{:.3f}", std::span(&kI32, 1)).find("'{:.3f}' does not suit value 1, which is i32: ") == 0);
  CHECK(wrong_with_print("{:x}", std::span(&kF32, 1)).find("'{:x}' does not suit value 1, which is f32: ") == 0);
  CHECK(wrong_with_print("{:99999999}", std::span(&kI32, 1)).find("at most 3 digits") != std::string::npos);
}

TEST_CASE("print format: elements in few digits, specs element by element") {
  CHECK(filled("x = {}!", kF32, {f32(0.1f)}) == "x = 0.1!");
  CHECK(filled("{}", kF32, {f32(1e30f)}) == "1e+30");
  CHECK(filled("{}", kF32, {0xffc00000}) == "nan");
  CHECK(filled("{}", kF32, {f32(-1.0f / 0.0f)}) == "-inf");
  CHECK(filled("{}", Type(Element::f16), {element_bits(Element::f16, 0.1)}) == "0.099975586");
  CHECK(filled("{}", Type(Element::bf16), {element_bits(Element::bf16, 3.140625)}) == "3.140625");
  CHECK(filled("{}", Type(Element::f8e4m3), {element_bits(Element::f8e4m3, 448.0)}) == "448");
  CHECK(filled("{:.1f}", Type(Element::f8e4m3), {element_bits(Element::f8e4m3, 448.0)}) == "448.0");
  CHECK(filled("{}", Type(Element::i8), {0xff}) == "-1");
  CHECK(filled("{}", Type(Element::u64), {~std::uint64_t{0}}) == "18446744073709551615");
  CHECK(filled("{:#06x}", Type(Element::u8), {0xab}) == "0x00ab");
  CHECK(filled("{}", Type(Element::boolean, kRow), {1, 0}) == "[true, false, true, false]");
  CHECK(filled("{}", Type::pointer(Element::f32, true), {0x1000}) == "0x1000");
  CHECK(filled("{{{}}}", kI32, {7}) == "{7}");
}

TEST_CASE("print format: tiles are nested lists, large ones abridged") {
  CHECK(filled("{}", Type(Element::i32, kRow), {1, 2, 3, 4}) == "[1, 2, 3, 4]");
  CHECK(filled("{:.1f}", Type(Element::f32, kSquare), {f32(1), f32(2.5f), f32(3), f32(4)}) == "[[1.0, 2.5], [3.0, 4.0]]");
  const std::int64_t large[] = {1024}, tall[] = {512, 2, 2};
  std::vector<std::uint64_t> counting(2048);
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = i;
  CHECK(filled("{}", Type(Element::i32, large), counting) == "[0, 1, 2, ..., 1021, 1022, 1023]");
  CHECK(filled("{}", Type(Element::i32, tall), counting) ==
        "[[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]], ..., [[2036, 2037], [2038, 2039]], [[2040, 2041], [2042, 2043]], [[2044, "
        "2045], [2046, 2047]]]");
}

}  // namespace
}  // namespace tilewright::ir
