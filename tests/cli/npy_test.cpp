// The NPY reader and writer: each dtype written and read again, and files with each kind of broken header.
#include "frontend/cli/files/npy.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tilewright::cli {
namespace {

using ir::Element;

std::vector<std::byte> counting_bytes(std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  return bytes;
}

/// A file of version `major` with this header, as it stands, and `data` bytes.
std::string file(const std::string& header, std::size_t data, int major = 1) {
  std::string s = "\x93NUMPY";
  s += static_cast<char>(major);
  s += '\0';
  const std::size_t n = header.size();
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) s += static_cast<char>(n >> 8 * i & 0xff);
  return s + header + std::string(data, '\1');
}

std::string header_of(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr, fortran, shape);
}

/// The message that reading throws, empty if it does not.
std::string refusal(const std::string& contents) {
  try {
    read_npy(contents, "a.npy");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("npy: every element type comes back as it was, in every shape") {
  for (int e = 0; e < ir::kElementCount; ++e)
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {7}, {3, 4}, {2, 1, 5}, {0}, {3, 0}}) {
      const auto element = static_cast<Element>(e);
      std::int64_t n = 1;
      for (std::int64_t extent : shape) n *= extent;
      const auto data = counting_bytes(static_cast<std::size_t>(n * ir::bytes(element)));
      const std::string contents = write_npy(element, shape, data);
      CAPTURE(ir::text(element));
      CHECK((contents.size() - data.size()) % 64 == 0);  // NumPy aligns what it maps
      const NpyArray array = read_npy(contents, "a.npy");
      CHECK(array.shape == shape);
      CHECK(array.elements == n);
      CHECK(array.data == data);
      CHECK(dtype_holds(array.dtype, element));
    }
}

TEST_CASE("npy: a dtype is taken for its own element type only, voids for the small floats of their width") {
  for (int stored = 0; stored < ir::kElementCount; ++stored)
    for (int asked = 0; asked < ir::kElementCount; ++asked) {
      const auto s = static_cast<Element>(stored), a = static_cast<Element>(asked);
      const bool both_fp8 = ir::is_fp8(s) && ir::is_fp8(a);
      CAPTURE(ir::text(s));
      CAPTURE(ir::text(a));
      CHECK(dtype_holds(read_npy(write_npy(s, std::vector<std::int64_t>{0}, {}), "a.npy").dtype, a) == (s == a || both_fp8));
    }
  CHECK(dtype_holds("bfloat16", Element::bf16));
  CHECK_FALSE(dtype_holds("bfloat16", Element::f16));
  CHECK(dtype_holds("float8_e5m2", Element::f8e5m2));
  CHECK_FALSE(dtype_holds("float8_e5m2", Element::f8e4m3));
  CHECK(dtype_holds("|V2", Element::bf16));
  CHECK(dtype_holds("<f1", Element::f8e4m3));
  CHECK_FALSE(dtype_holds("|V4", Element::f32));
  CHECK_FALSE(dtype_holds("|V1", Element::u8));
}

TEST_CASE("npy: versions 1 to 3, keys in any order, either quote, no spaces") {
  for (int version : {1, 2, 3}) CHECK(read_npy(file(header_of("'<f4'", "(3,)"), 12, version), "a.npy").elements == 3);
  CHECK(read_npy(file("{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"|u1\"}", 6), "a.npy").shape == std::vector<std::int64_t>{2, 3});
  // One axis has one order.
  CHECK(read_npy(file(header_of("'<i2'", "(3,)", "True"), 6), "a.npy").elements == 3);
  CHECK(read_npy(file(header_of("'=i2'", "()"), 2), "a.npy").elements == 1);
  CHECK(read_npy(file(header_of("'>u1'", "(2,)"), 2), "a.npy").elements == 2);
}

TEST_CASE("npy: what is wrong with a file is said") {
  struct Case {
    std::string contents, expected;
  };
  const std::string good = file(header_of("'<f4'", "(3,)"), 12);
  const std::vector<Case> cases = {
      {"", "it has 0 bytes"},
      {"\x93NUM", "it has 4 bytes"},
      {"PK\x03\x04 a zip file", "it does not start with \\x93NUMPY"},
      {good.substr(0, 6), "it ends before the version"},
      {good.substr(0, 9), "it ends before the length of its header"},
      {good.substr(0, 30), "bytes, and 20 are there"},
      {good.substr(0, good.size() - 1), "take 12 bytes, and 11 follow its header"},
      {good + "x", "take 12 bytes, and 13 follow its header"},
      {file(header_of("'<f4'", "(3,)"), 12, 9), "it has version 9; 1 to 3 are known"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12), "should have 4294967295 bytes, and 0 are there"},
      {file(header_of("'<f4'", "(3, 4)", "True"), 48), "the array is in Fortran order; it must be in C order"},
      {file(header_of("'>f4'", "(3,)"), 12), "the array is big-endian ('>f4'); it must be little-endian"},
      {file(header_of("[('a', '<f4')]", "(3,)"), 12), "the array has a structured dtype"},
      {file(header_of("'<c8'", "(3,)"), 24), "elements of dtype '<c8' have no counterpart here"},
      {file(header_of("'|O'", "(3,)"), 24), "elements of dtype '|O' have no counterpart here"},
      {file(header_of("'<U5'", "(3,)"), 60), "elements of dtype '<U5' have no counterpart here"},
      {file(header_of("'<M8[ns]'", "(3,)"), 24), "elements of dtype '<M8[ns]' have no counterpart here"},
      {file(header_of("''", "(3,)"), 24), "elements of dtype '' have no counterpart here"},
      {file(header_of("'\x1b[31m'", "(3,)"), 24), "elements of dtype '?[31m' have no counterpart here"},
      {file(header_of("'<f4'", "(-3,)"), 12), "an extent of its shape is -3; it must not be negative"},
      {file(header_of("'<f4'", "(99999999999999999999,)"), 12), "an extent of its shape does not fit 64 bits"},
      {file(header_of("'<f4'", "(4294967296, 4294967296)"), 12), "its shape has more than 2^63 bytes"},
      {file(header_of("'<f4'", "(9223372036854775807,)"), 12), "its shape has more than 2^63 bytes"},
      {file(header_of("'<f4'", "(4611686018427387904, 0, 4611686018427387904)"), 1), "take 0 bytes, and 1 follow"},
      {file(header_of("'<f4'", "(x,)"), 12), "its 'shape' is not a tuple of numbers"},
      {file(header_of("'<f4'", "3"), 12), "no '(' where one is expected"},
      {file(header_of("'<f4'", "(3 4)"), 12), "no ')' where one is expected"},
      {file(header_of("'<f4'", "(" + std::string(200, '1').replace(1, 198, std::string(198, ',')) + ")"), 12), "not a tuple of numbers"},
      {file(header_of("'<f4", "(3,)"), 12), "elements of dtype '<f4, ' have no counterpart"},
      {file(header_of("4", "(3,)"), 12), "no string where one is expected"},
      {file("{'descr': '<f4', 'shape': (3,)}", 12), "its header lacks 'fortran_order'"},
      {file("{'fortran_order': False, 'shape': (3,)}", 12), "its header lacks 'descr'"},
      {file("{'fortran_order': False, 'descr': '<f4'}", 12), "its header lacks 'shape'"},
      {file("{}", 12), "its header lacks 'descr'"},
      {file("{'descr': '<f4', 'descr': '<f4'}", 12), "its header has 'descr' twice"},
      {file("{'nope': 1}", 12), "its header has an unknown key 'nope'"},
      {file(header_of("'<f4'", "(3,)", "Maybe"), 12), "neither True nor False"},
      {file(header_of("'<f4'", "(3,)") + "import os", 12), "its header goes on after the dictionary"},
      {file("", 12), "no '{' where one is expected"},
      {file("{'descr", 12), "a string of its header does not end"},
  };
  for (const Case& c : cases) {
    const std::string message = refusal(c.contents);
    CAPTURE(c.expected);
    CAPTURE(message);
    CHECK(message.starts_with("'a.npy'"));
    CHECK(message.find(c.expected) != std::string::npos);
  }
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1,";
  CHECK(refusal(file(header_of("'<f4'", "(" + axes + ")"), 4)).find("more than 64 axes") != std::string::npos);
}

TEST_CASE("npy: any file with a byte changed, or cut short, is read or refused") {
  const std::string good = file(header_of("'<f4'", "(3, 2)"), 24);
  int read = 0;
  for (std::size_t at = 0; at < good.size(); ++at) {
    CHECK_FALSE(refusal(good.substr(0, at)).empty());
    for (const char value : std::string("\0\t'(),9\xff", 8)) {
      std::string changed = good;
      changed[at] = value;
      read += refusal(changed).empty();
    }
  }
  CHECK(read >= 24 * 8);  // the values of the elements do not matter
}

TEST_CASE("npy: element types by their names in tile IR and in NumPy") {
  CHECK(parse_element_name("f32") == Element::f32);
  CHECK(parse_element_name("float32") == Element::f32);
  CHECK(parse_element_name("bool") == Element::boolean);
  CHECK(parse_element_name("i1") == Element::boolean);
  CHECK(parse_element_name("bfloat16") == Element::bf16);
  CHECK(parse_element_name("float8_e4m3fn") == Element::f8e4m3);
  CHECK_FALSE(parse_element_name("float128").has_value());
  CHECK_FALSE(parse_element_name("").has_value());
  CHECK(element_names(Element::u16) == "u16 (uint16)");
}

}  // namespace
}  // namespace tilewright::cli
