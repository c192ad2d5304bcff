// Tracing of prints, assertions, hints, inline PTX and dot_scaled, and their errors.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tests/messages.h"
#include "tests/unit/frontend/traced.h"

namespace {

namespace tw = tilewright;
using traced::trace;

using tilewright::test::has;

std::string text_of(const std::function<void(tw::I32)>& body) {
  return tw::ir::print(trace([&](tw::I32 n) { body(n); }));
}

/// The mistake in a kernel of one i32 parameter.
std::string mistake(const std::function<void(tw::I32)>& body) {
  try {
    text_of(body);
  } catch (const tw::Error& e) {
    return e.what();
  }
  return "";
}

int line_of(const std::string& message) {
  const std::size_t at = message.find(".cpp:");
  return at == std::string::npos ? -1 : std::stoi(message.substr(at + 5));
}

TEST_CASE("debug: prints, assertions and hints become their ops") {
  const std::string text = text_of([](tw::I32 n) {
    auto lanes = tw::arange(0, 4);
    tw::device_print("{} of {:x}", lanes, n);
    tw::device_print("here");
    tw::device_assert(n > 0, "positive");
    tw::device_assert(lanes < n, "small", n > 1);
    tw::Bool same = tw::assume(n == 4);
    auto hinted = tw::max_contiguous(tw::multiple_of(lanes + n, 4), 2);
    tw::device_print("{} {}", same, hinted);
  });
  CHECK(has(text, "device_print %0, %n0 {text = \"{} of {:x}\"}") == false);
  CHECK(has(text, "{text = \"{} of {:x}\"}"));
  CHECK(has(text, "device_print {text = \"here\"}"));
  CHECK(has(text, "{text = \"positive\"}"));
  CHECK(has(text, "assume %"));
  CHECK(has(text, "{divisor = 4} : i32[4]"));
  CHECK(has(text, "{length = 2} : i32[4]"));
}

TEST_CASE("debug: a text that does not suit its values is refused at its line") {
  const std::string few = mistake([](tw::I32 n) { tw::device_print("{}", n, n); });
  CHECK(has(few, "error: device_print: the text has 1 placeholder {} for 2 values"));
  CHECK(line_of(few) == __LINE__ - 2);
  CHECK(has(mistake([](tw::I32 n) { tw::device_print("{:.2f}", n); }), "device_print: '{:.2f}' does not suit value 1, which is i32"));
  CHECK(has(mistake([](tw::I32) { tw::device_print("{"); }), "device_print: a { without }; a brace as such is {{"));
  CHECK(has(mistake([](tw::I32) {
              tw::F32 empty;
              tw::device_print("{}", empty);
            }),
            "device_print: 'value' is empty"));
}

TEST_CASE("debug: assertions and masks broadcast to each other, or say why not") {
  CHECK(mistake([](tw::I32 n) { tw::device_assert(tw::arange(0, 4) < n, "t", tw::column(tw::arange(0, 2)) < n); }).empty());
  const std::string text = mistake([](tw::I32 n) { tw::device_assert(tw::arange(0, 4) < n, "t", tw::arange(0, 8) < n); });
  CHECK(has(text, "error: device_assert: "));
  CHECK(line_of(text) == __LINE__ - 2);
}

TEST_CASE("hints: divisors and lengths are positive, of integers and pointers") {
  CHECK(has(mistake([](tw::I32 n) { (void)tw::multiple_of(n, 0); }), "error: multiple_of: the divisor is 0; it must be positive"));
  CHECK(has(mistake([](tw::I32 n) { (void)tw::max_contiguous(n, -4); }), "error: max_contiguous: the length is -4; it must be positive"));
  CHECK(has(mistake([](tw::I32 n) { (void)tw::multiple_of(n.to<float>(), 4); }), "multiple_of: 'x' is f32; expected integers or pointers"));
}

TEST_CASE("debug: a combine function neither prints nor asserts nor assumes") {
  const auto in_reduce = [](auto&& body) {
    return mistake([&](tw::I32 n) {
      tw::reduce(tw::arange(0, 4) + n, 0, [&](tw::I32 a, tw::I32 b) {
        body(a);
        return a + b;
      });
    });
  };
  CHECK(has(in_reduce([](tw::I32 a) { tw::device_print("{}", a); }), "device_print: a combine function"));
  CHECK(has(in_reduce([](tw::I32 a) { tw::device_assert(a > 0, "t"); }), "device_assert: a combine function"));
  CHECK(has(in_reduce([](tw::I32 a) { tw::assume(a > 0); }), "assume: a combine function"));
}

TEST_CASE("inline_ptx: operands broadcast, the fallback is called over them") {
  const std::string text = text_of([](tw::I32 n) {
    auto lanes = tw::arange(0, 4);
    auto y = tw::inline_ptx<float>("add.rn.f32 $0, $1, $2; // $$", "=f,f,f", lanes.to<float>(), n.to<float>(),
                                   [](const tw::F32& a, const tw::F32& b) { return a + b; });
    tw::device_print("{}", y);
    tw::device_print("{}", tw::inline_ptx<std::uint32_t>("mov.u32 $0, %clock;", "=r"));
  });
  CHECK(has(text, "constraints = \"=f,f,f\", has_fallback} : f32[4]"));
  CHECK(has(text, "constraints = \"=r\"} : u32"));
}

TEST_CASE("inline_ptx: constraints are checked against the types, names against the operands") {
  const auto wrong = [](const char* ptx, const char* constraints) {
    return mistake([&](tw::I32 n) { (void)tw::inline_ptx<float>(ptx, constraints, n.to<float>()); });
  };
  CHECK(wrong("ex2.approx.f32 $0, $1;", "=f,f").empty());
  CHECK(has(wrong("", "f,f"), "inline_ptx: the constraints are 'f,f'; the first must be that of the result, such as '=f'"));
  CHECK(has(wrong("", "=f"), "inline_ptx: the constraints '=f' are for 0 operands; there is 1"));
  CHECK(has(wrong("", "=f,f,f"), "inline_ptx: the constraints '=f,f,f' are for 2 operands; there is 1"));
  CHECK(has(wrong("", "=f,=f"), "there is one result"));
  CHECK(has(wrong("", "=f,r"), "inline_ptx: the constraint of operand 1 is 'r'; it must be 'f' for f32"));
  CHECK(has(wrong("", "=d,f"), "inline_ptx: the constraint of the result is 'd'; it must be 'f' for f32"));
  CHECK(has(wrong("neg.f32 $0, $2;", "=f,f"), "inline_ptx: $2 in the PTX; $0 is the result and $1 to $1 are the operands"));
  CHECK(has(wrong("neg.f32 $0, $x;", "=f,f"), "inline_ptx: a $ without a number; a dollar as such is $$"));
  CHECK(has(mistake([](tw::I32 n) { (void)tw::inline_ptx<std::int8_t>("", "=r,r", n); }), "the result is i8, which no register holds"));
  CHECK(has(mistake([](tw::I32 n) { (void)tw::inline_ptx<float>("", "=f,r", n, [](tw::I32) { return tw::zeros<float>({8}); }); }),
            "inline_ptx: the fallback gives [8]; it must be"));
}

TEST_CASE("fast: the flag is on the op, and an empty handle is told by the name that was called") {
  const std::string text = text_of([](tw::I32 n) {
    auto x = n.to<float>();
    tw::device_print("{} {} {}", tw::fast::exp(x), tw::fast::div(1, x), tw::exp(x));
  });
  CHECK(has(text, " {fast} : f32"));
  CHECK(has(mistake([](tw::I32) { (void)tw::fast::sin(tw::F32()); }), "fast::sin: "));
}

TEST_CASE("dot_scaled: shapes of operands and scales") {
  const auto scaled = [](tw::Shape a, tw::Shape as, tw::Shape b, tw::Shape bs) {
    return mistake([&](tw::I32) {
      (void)tw::dot_scaled(tw::zeros<tw::f8e4m3>(a), tw::zeros<std::uint8_t>(as), tw::zeros<std::uint8_t>(b), tw::zeros<std::uint8_t>(bs));
    });
  };
  CHECK(scaled({16, 64}, {16, 2}, {32, 8}, {8, 2}).empty());
  CHECK(has(scaled({16}, {16, 2}, {32, 8}, {8, 2}), "dot_scaled: 'a' is [16]; it must be [M, K]"));
  CHECK(has(scaled({16, 64}, {16, 2}, {2, 32, 8}, {8, 2}), "dot_scaled: 'b' is [2, 32, 8]; it must be [K, N]"));
  CHECK(has(scaled({16, 64}, {16, 2}, {64, 8}, {8, 2}), "which is 128 elements of K; it must be 64 as of 'a'"));
  CHECK(has(scaled({16, 64}, {16, 4}, {32, 8}, {8, 2}), "'a_scale' is u8[16, 4]; it must be u8[16, 2]"));
  CHECK(has(scaled({16, 16}, {16, 1}, {8, 8}, {8, 1}), "which is 16 elements of K; a scale is for 32"));
}

}  // namespace
