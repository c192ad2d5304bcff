// The parser on malformed input. (tests/files has valid texts and error messages.)
#include "tileir/text/parser.h"

#include <doctest/doctest.h>

#include <random>

#include "tileir/text/printer.h"
#include "tileir/verifier.h"

using namespace tilewright;
using namespace tilewright::ir;

namespace {

constexpr std::string_view kSource = R"(// A bit of everything.
kernel @f(%x: ptr<const f32> {divisible_by = 16}, %y: ptr<f32>, %n: i32) {
  %p = program_id {axis = 0} : i32
  %r = arange {lo = 0, hi = 64} : i32[64]
  %nb = broadcast %n : i32[64]
  %m = lt %r, %nb : i1[64]
  %xb = broadcast %x : ptr<const f32>[64]
  %xp = add_ptr %xb, %r : ptr<const f32>[64]
  %v = load %xp, %m {cache = streaming, is_volatile} : f32[64] @ "a.cpp":3:4
  %one = constant {value = 1} : i32
  %c = constant {value = -1.5e-3} : f32[64]
  %s, %k = for %p, %n, %one, %v, %n {num_stages = 3} : f32[64], i32 (%i: i32, %acc: f32[64], %j: i32) {
    %a = fma %acc, %c, %c : f32[64]
    yield %a, %j
  }
  %t = permute %s {axes = [0]} : f32[64]
  %sum = reduce %t {axis = 0, commutative} : f32 (%a: f32, %b: f32) {
    %d = add %a, %b : f32
    yield %d
  }
  %gt = gt %k, %n : i1
  %w = while %k : i32 (%u: i32) {
    %g = lt %u, %n : i1
    condition %g, %u
  } (%u: i32) {
    %h = add %u, %one : i32
    yield %h
  }
  if %gt {
    store %y, %sum
    yield
  } {
    yield
  }
}
)";

/// Parses; whatever reads must print and read back as itself. Anything but Error escapes.
bool reads(const std::string& text) {
  try {
    const Module m = parse_unverified(text, "text");
    for (const Function& f : m.functions)
      if (!verify(f).empty()) return false;
    const std::string once = print(m);
    CHECK(print(parse(once, "once")) == once);
    return true;
  } catch (const Error& e) {
    CHECK(e.where().file == "text");
    return false;
  }
}

std::string error(const std::string& text) {
  try {
    parse(text, "t");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("parser: the sample reads") { CHECK(reads(std::string(kSource))); }

TEST_CASE("parser: no prefix of a text does harm") {
  for (std::size_t n = 0; n < kSource.size(); ++n) reads(std::string(kSource.substr(0, n)));
}

TEST_CASE("parser: no mutation of a text does harm") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return random() % n; };
  constexpr std::string_view kPieces[] = {"%",
                                          "{",
                                          "}",
                                          "(",
                                          ")",
                                          ":",
                                          ",",
                                          "=",
                                          "@",
                                          "[",
                                          "]",
                                          "<",
                                          ">",
                                          "-",
                                          "0x",
                                          "\"",
                                          "\\",
                                          "//",
                                          "\n",
                                          "for ",
                                          "%n",
                                          "99999999999999999999",
                                          "-1",
                                          "0",
                                          "nan",
                                          "[4, 4]",
                                          "yield ",
                                          "reduce ",
                                          "kernel @g() {",
                                          "i1",
                                          "f16",
                                          "ptr<"};
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text(kSource);
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(below(256)); break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, kPieces[below(std::size(kPieces))]); break;
        case 3: text.insert(at, text.substr(below(text.size()), below(40))); break;
        default: text.replace(at, 1, kPieces[below(std::size(kPieces))]); break;
      }
    }
    read += reads(text);
  }
  CHECK(read > 0);
  CHECK(read < 3000);
}

TEST_CASE("parser: deep nesting is refused before it overflows a stack") {
  std::string text = "kernel @f(%c: i1) {\n";
  for (int i = 0; i < 100000; ++i) text += "if %c {\n";
  CHECK(error(text).find("regions are nested more than 128 deep") != std::string::npos);
}

TEST_CASE("parser: a long line and a long name do no harm") {
  const std::string name(100000, 'x');
  CHECK(error("kernel @f() { " + name + " }").find("unknown op") != std::string::npos);
  CHECK(error("kernel @" + name + "(%" + name + ": i32) {}").empty());
}

TEST_CASE("parser: text with carriage returns and tabs, and no text at all") {
  CHECK(error("kernel @f(%n: i32) {\r\n\t%a = add %n, %n : i32\r\n}\r\n").empty());
  CHECK(error("kernel @f() {\n") == "t:2:1: error: expected an op or '}', found the end of the text");
  CHECK(parse("", "t").functions.empty());
  CHECK(parse(" // nothing", "t").functions.empty());
}

TEST_CASE("parser: a byte that is not text is named, zero included") {
  CHECK(error(std::string("kernel\0 @f() {}", 15)) == "t:1:7: error: unexpected character 0x00");
  CHECK(error("kernel \xff") == "t:1:8: error: unexpected character 0xff");
}

TEST_CASE("parser: names may be reused once their region has ended") {
  CHECK(
      error("kernel @f(%c: i1) {\n if %c { %a = bit_not %c : i1 yield } { %a = bit_not %c : i1 yield }\n %a = bit_not %c : i1\n}").empty());
}
