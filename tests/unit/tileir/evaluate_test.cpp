// Element-wise evaluation against independent definitions: exhaustively on 8 bits, by search on 16-bit floats, by example elsewhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tileir/builder.h"
#include "tileir/interpreter/evaluate_scalar.h"
#include "tileir/op_kind.h"
#include "tilewright/small_float.h"

using namespace tilewright::ir;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t eval(OpKind k, Element e, std::initializer_list<std::uint64_t> words, Element result) {
  const std::vector<Type> types(words.size(), Type(e));
  const std::vector<std::uint64_t> operands(words);
  return evaluate_scalar(k, types, operands, Type(result));
}
std::uint64_t eval(OpKind k, Element e, std::initializer_list<std::uint64_t> words) { return eval(k, e, words, e); }
std::uint64_t cast(Element from, std::uint64_t word, Element to) { return eval(OpKind::cast_, from, {word}, to); }

double real(OpKind k, Element e, std::initializer_list<double> values) {
  std::vector<std::uint64_t> words;
  for (double v : values) words.push_back(element_bits(e, v));
  return float_value(e, evaluate_scalar(k, std::vector<Type>(words.size(), Type(e)), words, Type(e)));
}

constexpr Element kFloats[] = {Element::f16, Element::bf16, Element::f32, Element::f64};
constexpr Element kIntegers[] = {Element::i8, Element::i16, Element::i32, Element::i64,
                                 Element::u8, Element::u16, Element::u32, Element::u64};

/// Integer ops in unbounded integers, taken modulo the width at the end. a and b are values, `n` the width.
struct WideOp {
  OpKind kind;
  std::function<std::int64_t(std::int64_t a, std::int64_t b, int n, bool is_signed)> value;
};
const WideOp kWideOps[] = {
    {OpKind::add_, [](auto a, auto b, int, bool) { return a + b; }},
    {OpKind::sub_, [](auto a, auto b, int, bool) { return a - b; }},
    {OpKind::mul_, [](auto a, auto b, int, bool) { return a * b; }},
    {OpKind::div_, [](auto a, auto b, int, bool) { return b == 0 ? -1 : a / b; }},
    {OpKind::rem_, [](auto a, auto b, int, bool) { return b == 0 ? a : a % b; }},
    {OpKind::bit_and_, [](auto a, auto b, int, bool) { return a & b; }},
    {OpKind::bit_or_, [](auto a, auto b, int, bool) { return a | b; }},
    {OpKind::bit_xor_, [](auto a, auto b, int, bool) { return a ^ b; }},
    {OpKind::minimum_, [](auto a, auto b, int, bool) { return std::min(a, b); }},
    {OpKind::maximum_, [](auto a, auto b, int, bool) { return std::max(a, b); }},
    {OpKind::shl_, [](auto a, auto b, int n, bool) { return (b & 0xff) >= n ? 0 : a * (std::int64_t{1} << (b & 0xff)); }},
    {OpKind::shr_, [](auto a, auto b, int n, bool) { return (b & 0xff) >= n ? (a < 0 ? -1 : 0) : a >> (b & 0xff); }},
};

}  // namespace

TEST_CASE("evaluate: 8-bit integer arithmetic is exact modulo 2^8 for every pair") {
  for (Element e : {Element::i8, Element::u8})
    for (const WideOp& op : kWideOps)
      for (std::uint64_t a = 0; a < 256; ++a)
        for (std::uint64_t b = 0; b < 256; ++b) {
          const std::int64_t want = op.value(integer_value(e, a), integer_value(e, b), 8, is_signed(e));
          if (eval(op.kind, e, {a, b}) != element_bits(e, want)) FAIL_CHECK(text(op.kind) << " " << text(e) << " " << a << ", " << b);
        }
}

TEST_CASE("evaluate: 8-bit comparisons and unary ops are right for every operand") {
  for (Element e : {Element::i8, Element::u8})
    for (std::uint64_t a = 0; a < 256; ++a) {
      const std::int64_t x = integer_value(e, a);
      for (std::uint64_t b = 0; b < 256; ++b) {
        const std::int64_t y = integer_value(e, b);
        const Element o = Element::boolean;
        const bool right = eval(OpKind::eq_, e, {a, b}, o) == (x == y) && eval(OpKind::ne_, e, {a, b}, o) == (x != y) &&
                           eval(OpKind::lt_, e, {a, b}, o) == (x < y) && eval(OpKind::le_, e, {a, b}, o) == (x <= y) &&
                           eval(OpKind::gt_, e, {a, b}, o) == (x > y) && eval(OpKind::ge_, e, {a, b}, o) == (x >= y);
        if (!right) FAIL_CHECK(text(e) << " " << a << " " << b);
      }
      int ones = 0, lowest = 0, leading = 8;
      for (int i = 0; i < 8; ++i)
        if (a >> i & 1) {
          ++ones;
          leading = 7 - i;
          if (lowest == 0) lowest = i + 1;
        }
      CHECK(eval(OpKind::neg_, e, {a}) == element_bits(e, -x));
      CHECK(eval(OpKind::abs_, e, {a}) == element_bits(e, x < 0 ? -x : x));
      CHECK(eval(OpKind::bit_not_, e, {a}) == element_bits(e, -x - 1));
      CHECK(eval(OpKind::popcount_, e, {a}, Element::i32) == static_cast<std::uint64_t>(ones));
      CHECK(eval(OpKind::ffs_, e, {a}, Element::i32) == static_cast<std::uint64_t>(lowest));
      CHECK(eval(OpKind::clz_, e, {a}, Element::i32) == static_cast<std::uint64_t>(leading));
      const std::uint64_t reversed = eval(OpKind::reverse_bits_, e, {a}, e);
      for (int i = 0; i < bits(e); ++i) CHECK((reversed >> i & 1) == (a >> (bits(e) - 1 - i) & 1));
    }
}

TEST_CASE("evaluate: division by zero, overflow and wide shifts have the documented values at every width") {
  for (Element e : kIntegers) {
    CAPTURE(text(e));
    const int n = bits(e);
    const std::uint64_t ones = element_bits(e, std::int64_t{-1}), least = is_signed(e) ? std::uint64_t{1} << (n - 1) : 0;
    CHECK(eval(OpKind::div_, e, {element_bits(e, std::int64_t{7}), 0}) == ones);
    CHECK(eval(OpKind::rem_, e, {element_bits(e, std::int64_t{7}), 0}) == 7);
    if (is_signed(e)) {
      CHECK(eval(OpKind::div_, e, {least, ones}) == least);
      CHECK(eval(OpKind::rem_, e, {least, ones}) == 0);
      CHECK(eval(OpKind::abs_, e, {least}) == least);
      CHECK(eval(OpKind::neg_, e, {least}) == least);
      CHECK(integer_value(e, eval(OpKind::div_, e, {element_bits(e, std::int64_t{-7}), 2})) == -3);
      CHECK(integer_value(e, eval(OpKind::rem_, e, {element_bits(e, std::int64_t{-7}), 2})) == -1);
      CHECK(eval(OpKind::shr_, e, {least, ones}) == ones);  // a count is unsigned: this one is far past the width
    } else {
      CHECK(eval(OpKind::shr_, e, {ones, static_cast<std::uint64_t>(n)}) == 0);
      CHECK(eval(OpKind::umulhi_, e, {ones, ones}) == ones - 1);
      CHECK(eval(OpKind::umulhi_, e, {std::uint64_t{1} << (n - 1), 6}) == 3);
    }
    CHECK(eval(OpKind::shl_, e, {ones, static_cast<std::uint64_t>(n)}) == 0);
    CHECK(eval(OpKind::shl_, e, {ones, ones}) == 0);
    CHECK(eval(OpKind::shl_, e, {1, static_cast<std::uint64_t>(n - 1)}) == std::uint64_t{1} << (n - 1));
    CHECK(eval(OpKind::mul_, e, {ones, ones}) == element_bits(e, std::int64_t{1}));
    CHECK(eval(OpKind::clz_, e, {0}, Element::i32) == static_cast<std::uint64_t>(n));
  }
}

TEST_CASE("evaluate: bool ops keep to 0 and 1") {
  const Element b = Element::boolean;
  CHECK(eval(OpKind::bit_not_, b, {0}) == 1);
  CHECK(eval(OpKind::bit_not_, b, {1}) == 0);
  CHECK(eval(OpKind::bit_xor_, b, {1, 1}) == 0);
  CHECK(eval(OpKind::eq_, b, {1, 1}) == 1);
  CHECK(eval(OpKind::ne_, b, {1, 0}) == 1);
}

TEST_CASE("evaluate: minimum and maximum let NaN win, fmin and fmax the number, and order the zeros") {
  for (Element e : kFloats) {
    CAPTURE(text(e));
    for (auto [a, b] : {std::pair{kNan, 1.0}, std::pair{1.0, kNan}}) {
      CHECK(std::isnan(real(OpKind::minimum_, e, {a, b})));
      CHECK(std::isnan(real(OpKind::maximum_, e, {a, b})));
      CHECK(real(OpKind::fmin_, e, {a, b}) == 1.0);
      CHECK(real(OpKind::fmax_, e, {a, b}) == 1.0);
    }
    CHECK(std::isnan(real(OpKind::fmin_, e, {kNan, kNan})));
    for (auto [a, b] : {std::pair{0.0, -0.0}, std::pair{-0.0, 0.0}}) {
      CHECK(std::signbit(real(OpKind::minimum_, e, {a, b})));
      CHECK(std::signbit(real(OpKind::fmin_, e, {a, b})));
      CHECK(!std::signbit(real(OpKind::maximum_, e, {a, b})));
      CHECK(!std::signbit(real(OpKind::fmax_, e, {a, b})));
    }
    CHECK(real(OpKind::minimum_, e, {-kInf, 2.0}) == -kInf);
    CHECK(real(OpKind::maximum_, e, {3.0, 2.0}) == 3.0);
  }
  // A selected NaN keeps its payload, and comparisons follow the rules of IEEE 754 for NaN.
  CHECK(eval(OpKind::maximum_, Element::f32, {0x7fc01234, 0}) == 0x7fc01234);
  CHECK(eval(OpKind::ne_, Element::f32, {0x7fc00000, 0x7fc00000}, Element::boolean) == 1);
  CHECK(eval(OpKind::le_, Element::f32, {0x7fc00000, 0x7fc00000}, Element::boolean) == 0);
  CHECK(eval(OpKind::neg_, Element::f32, {0x7fc01234}) == 0xffc01234);
  CHECK(eval(OpKind::abs_, Element::f16, {0xfe01}) == 0x7e01);
  CHECK(eval(OpKind::copysign_, Element::bf16, {0x3f80, 0xffc1}) == 0xbf80);
}

TEST_CASE("evaluate: 16-bit float arithmetic is the exact result rounded once") {
  using namespace tilewright::detail;
  std::mt19937_64 random(7);
  for (Element e : {Element::f16, Element::bf16}) {
    const FloatFormat format = e == Element::f16 ? kF16 : kBF16;
    for (int i = 0; i < 100000; ++i) {
      const std::uint64_t wa = random() & 0xffff, wb = i % 2 ? random() & 0xffff : (wa + random() % 64) & 0xffff;
      const double a = decode(format, static_cast<std::uint32_t>(wa)), b = decode(format, static_cast<std::uint32_t>(wb));
      if (!std::isfinite(a) || !std::isfinite(b) || b == 0) continue;
      // A result is right if the exact value is within half a step of it: compares the distances to both neighbours.
      const auto judge = [&](OpKind k, auto&& compare_exact) {
        const std::uint64_t got = eval(k, e, {wa, wb});
        const double r = decode(format, static_cast<std::uint32_t>(got));
        if (!std::isfinite(r)) return;
        const std::uint32_t magnitude = got & 0x7fff;
        const double sign = got & 0x8000 ? -1 : 1, up = decode(format, magnitude + 1),
                     low = magnitude ? decode(format, magnitude - 1) : -up;
        if (!std::isfinite(up)) return;
        // compare_exact(m): the sign of (exact - m). Midpoints are exact in double.
        const int above = compare_exact(sign * (std::fabs(r) + up) / 2), below = compare_exact(sign * (std::fabs(r) + low) / 2);
        const bool even = magnitude % 2 == 0;
        const bool right = (even ? sign * above <= 0 : sign * above < 0) && (even ? sign * below >= 0 : sign * below > 0);
        if (!right) FAIL_CHECK(text(k) << " " << text(e) << " " << wa << ", " << wb << " gave " << got);
      };
      const auto sign_of = [](long double v) { return (v > 0) - (v < 0); };
      // long double holds each of these expressions exactly, or with an error far below the operands' last bit.
      judge(OpKind::add_, [&](double m) {
        return std::fabs(a) > std::fabs(b) ? sign_of((static_cast<long double>(a) - m) + b)
                                           : sign_of((static_cast<long double>(b) - m) + a);
      });
      judge(OpKind::mul_, [&](double m) { return sign_of(static_cast<long double>(a) * b - m); });
      judge(OpKind::div_,
            [&](double m) { return sign_of(static_cast<long double>(a) - static_cast<long double>(m) * b) * (b < 0 ? -1 : 1); });
    }
  }
}

TEST_CASE("evaluate: f16 fma rounds the exact sum once") {
  using namespace tilewright::detail;
  __extension__ using Wide = __int128;
  std::mt19937_64 random(11);
  const auto units = [](double v) { return static_cast<Wide>(v * 0x1p24); };  // every finite f16 is a multiple of 2^-24
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t wa = random() & 0x7fff, wb = random() & 0xffff, wc = random() & 0xffff;
    const double a = f16_value(static_cast<std::uint16_t>(wa)), b = f16_value(static_cast<std::uint16_t>(wb)),
                 c = f16_value(static_cast<std::uint16_t>(wc));
    if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) continue;
    const std::uint64_t got = eval(OpKind::fma_, Element::f16, {wa, wb, wc});
    const std::uint32_t magnitude = got & 0x7fff;
    const Wide exact = units(a) * units(b) + units(c) * (Wide{1} << 24), size = exact < 0 ? -exact : exact;  // in units of 2^-48
    if (magnitude >= 0x7bff) continue;
    const auto at = [&](std::uint32_t code) { return units(f16_value(static_cast<std::uint16_t>(code))) * (Wide{1} << 24); };
    const Wide r = at(magnitude), above = at(magnitude + 1) - r, below = magnitude ? r - at(magnitude - 1) : above;
    const bool even = magnitude % 2 == 0;
    const bool right = even ? 2 * (size - r) <= above && 2 * (r - size) <= below : 2 * (size - r) < above && 2 * (r - size) < below;
    if (!right || (exact != 0 && (got >> 15 != 0) != (exact < 0))) FAIL_CHECK(wa << ", " << wb << ", " << wc << " gave " << got);
  }
}

TEST_CASE("evaluate: fma sees addends that a double sum would lose") {
  // 1.0078125 * 1.5 = 387/256 is a tie in bf16; the addend decides, though it is 2^-100.
  CHECK(real(OpKind::fma_, Element::bf16, {129.0 / 128, 1.5, 0.0}) == 388.0 / 256);
  CHECK(real(OpKind::fma_, Element::bf16, {129.0 / 128, 1.5, -0x1p-100}) == 386.0 / 256);
  CHECK(real(OpKind::fma_, Element::bf16, {-129.0 / 128, 1.5, 0x1p-100}) == -386.0 / 256);
  // In f32, (1 + 2^-23) * 1.5 is a tie: a product that is rounded first gives 0 or is off by 2^-47.
  CHECK(real(OpKind::fma_, Element::f32, {1 + 0x1p-23, 1.5, -0x1p-100}) == 1.5 + 0x1p-23);
  CHECK(real(OpKind::fma_, Element::f32, {1 + 0x1p-12, 1 + 0x1p-12, -1.0}) == 0x1p-11 + 0x1p-24);
  CHECK(real(OpKind::fma_, Element::f64, {1 + 0x1p-30, 1 + 0x1p-30, -1.0}) == 0x1p-29 + 0x1p-60);
  CHECK(real(OpKind::fma_, Element::f16, {256.0, 256.0, -kInf}) == -kInf);
  CHECK(std::isnan(real(OpKind::fma_, Element::f16, {kInf, 0.0, 1.0})));
  CHECK(real(OpKind::fma_, Element::bf16, {0x1p127, 0x1p127, -kInf}) == -kInf);
}

TEST_CASE("evaluate: roundings differ where they should") {
  for (Element e : kFloats) {
    CAPTURE(text(e));
    CHECK(real(OpKind::round_, e, {2.5}) == 3.0);
    CHECK(real(OpKind::round_, e, {-2.5}) == -3.0);
    CHECK(real(OpKind::rint_, e, {2.5}) == 2.0);
    CHECK(real(OpKind::rint_, e, {3.5}) == 4.0);
    CHECK(real(OpKind::ceil_, e, {-1.5}) == -1.0);
    CHECK(real(OpKind::floor_, e, {-1.5}) == -2.0);
    CHECK(real(OpKind::trunc_, e, {-1.5}) == -1.0);
    CHECK(std::signbit(real(OpKind::ceil_, e, {-0.5})));
    CHECK(real(OpKind::sqrt_, e, {2.25}) == 1.5);
    CHECK(real(OpKind::rsqrt_, e, {4.0}) == 0.5);
    CHECK(real(OpKind::rsqrt_, e, {0.0}) == kInf);
  }
  // 0.49999997f + 0.5f rounds to 1 in f32: floor(x + 0.5) would be wrong.
  CHECK(real(OpKind::round_, Element::f32, {0x1.fffffep-2}) == 0.0);
}

TEST_CASE("evaluate: elementary functions are within half an ulp, with C's special cases") {
  for (Element e : kFloats) {
    CAPTURE(text(e));
    const auto want = [&](double v) { return float_value(e, element_bits(e, v)); };
    CHECK(real(OpKind::exp_, e, {1.0}) == want(std::exp(1.0)));
    CHECK(real(OpKind::exp_, e, {-kInf}) == 0.0);
    CHECK(real(OpKind::exp2_, e, {-3.0}) == 0.125);
    CHECK(real(OpKind::log_, e, {0.0}) == -kInf);
    CHECK(std::isnan(real(OpKind::log_, e, {-1.0})));
    CHECK(real(OpKind::log2_, e, {8.0}) == 3.0);
    CHECK(real(OpKind::sin_, e, {0.5}) == want(std::sin(0.5)));
    CHECK(real(OpKind::cos_, e, {0.5}) == want(std::cos(0.5)));
    CHECK(real(OpKind::tan_, e, {0.5}) == want(std::tan(0.5)));
    CHECK(std::isnan(real(OpKind::sin_, e, {kInf})));
    CHECK(real(OpKind::tanh_, e, {kInf}) == 1.0);
    CHECK(real(OpKind::erf_, e, {0.5}) == want(std::erf(0.5)));
    CHECK(real(OpKind::exp10_, e, {3.0}) == 1000.0);
    CHECK(real(OpKind::expm1_, e, {0.5}) == want(std::expm1(0.5)));
    CHECK(real(OpKind::log10_, e, {1000.0}) == 3.0);
    CHECK(real(OpKind::log1p_, e, {0.5}) == want(std::log1p(0.5)));
    CHECK(real(OpKind::asin_, e, {0.5}) == want(std::asin(0.5)));
    CHECK(real(OpKind::acos_, e, {0.5}) == want(std::acos(0.5)));
    CHECK(real(OpKind::atan_, e, {0.5}) == want(std::atan(0.5)));
    CHECK(real(OpKind::sinh_, e, {0.5}) == want(std::sinh(0.5)));
    CHECK(real(OpKind::cosh_, e, {0.5}) == want(std::cosh(0.5)));
    CHECK(real(OpKind::cbrt_, e, {-27.0}) == -3.0);
    CHECK(real(OpKind::atan2_, e, {1.0, -2.0}) == want(std::atan2(1.0, -2.0)));
    CHECK(real(OpKind::hypot_, e, {3.0, -4.0}) == 5.0);
    CHECK(real(OpKind::hypot_, e, {kInf, kNan}) == kInf);
    CHECK(real(OpKind::pow_, e, {-2.0, 3.0}) == -8.0);
    CHECK(real(OpKind::pow_, e, {kNan, 0.0}) == 1.0);
    CHECK(std::isnan(real(OpKind::pow_, e, {-2.0, 0.5})));
  }
}

TEST_CASE("evaluate: float to integer truncates and saturates, NaN gives 0") {
  for (Element from : kFloats)
    for (Element to : kIntegers) {
      CAPTURE(text(from));
      CAPTURE(text(to));
      const std::uint64_t least = is_signed(to) ? std::uint64_t{1} << (bits(to) - 1) : 0;
      const std::uint64_t greatest = element_bits(to, std::int64_t{-1}) & ~least;
      const auto to_int = [&](double v) { return cast(from, element_bits(from, v), to); };
      CHECK(to_int(kInf) == greatest);
      CHECK(to_int(-kInf) == least);
      CHECK(to_int(kNan) == 0);
      CHECK(to_int(2.75) == 2);
      CHECK(to_int(-0.75) == 0);
      CHECK(integer_value(to, to_int(-2.75)) == (is_signed(to) ? -2 : 0));
    }
  CHECK(cast(Element::f64, element_bits(Element::f64, 2147483647.5), Element::i32) == 2147483647);
  CHECK(cast(Element::f64, element_bits(Element::f64, 0x1p63), Element::i64) == 0x7fffffffffffffff);
  CHECK(cast(Element::f64, element_bits(Element::f64, 0x1.fffffffffffffp63), Element::u64) == 0xfffffffffffff800);
  CHECK(cast(Element::f32, element_bits(Element::f32, -129.0), Element::i8) == 0x80);
}

TEST_CASE("evaluate: integer to float rounds once") {
  // Half a step of the target and a little: rounding to double first would make a tie of it.
  const std::uint64_t big = (std::uint64_t{1} << 62) + (std::uint64_t{1} << 54) + 1;
  CHECK(float_value(Element::bf16, cast(Element::i64, big, Element::bf16)) == 0x1p62 + 0x1p55);
  CHECK(float_value(Element::bf16, cast(Element::i64, big - 1, Element::bf16)) == 0x1p62);
  CHECK(float_value(Element::bf16, cast(Element::i64, 0 - big, Element::bf16)) == -0x1p62 - 0x1p55);
  const std::uint64_t odd = (std::uint64_t{1} << 60) + (std::uint64_t{1} << 36) + 1;  // step of f32 here: 2^37
  CHECK(float_value(Element::f32, cast(Element::u64, odd, Element::f32)) == 0x1p60 + 0x1p37);
  CHECK(float_value(Element::f32, cast(Element::u64, ~std::uint64_t{0}, Element::f32)) == 0x1p64);
  CHECK(float_value(Element::f64, cast(Element::u64, ~std::uint64_t{0}, Element::f64)) == 0x1p64);
  CHECK(float_value(Element::f16, cast(Element::i32, 65519, Element::f16)) == 65504.0);
  CHECK(float_value(Element::f16, cast(Element::i32, 65520, Element::f16)) == kInf);
  CHECK(float_value(Element::f16, cast(Element::i16, element_bits(Element::i16, std::int64_t{-32768}), Element::f16)) == -32768.0);
  CHECK(std::isnan(float_value(Element::f8e4m3, cast(Element::i32, 1000, Element::f8e4m3))));
}

TEST_CASE("evaluate: float to float rounds once, small floats widen exactly") {
  const auto through = [](double v, Element to) { return float_value(to, cast(Element::f64, element_bits(Element::f64, v), to)); };
  // Just above a tie of the target by less than an f32 can see.
  CHECK(through(1 + 0x1p-11 + 0x1p-40, Element::f16) == 1 + 0x1p-10);
  CHECK(through(1 + 0x1p-11, Element::f16) == 1.0);
  CHECK(through(1 + 0x1p-8 + 0x1p-40, Element::bf16) == 1 + 0x1p-7);
  CHECK(through(1 + 0x1p-4 + 0x1p-40, Element::f8e4m3) == 1.125);
  CHECK(through(1 + 0x1p-3 + 0x1p-40, Element::f8e5m2) == 1.25);
  CHECK(through(1e300, Element::f32) == kInf);
  CHECK(std::isnan(through(449e3, Element::f8e4m3)));
  CHECK(through(1e6, Element::f8e5m2) == kInf);
  CHECK(through(0x1p-149, Element::f32) == 0x1p-149);
  for (std::uint64_t w = 0; w < 256; ++w)
    for (Element from : {Element::f8e4m3, Element::f8e5m2})
      for (Element to : kFloats) {
        const double v = float_value(from, w), got = float_value(to, cast(from, w, to));
        if (std::isnan(v) ? !std::isnan(got) : got != v || std::signbit(got) != std::signbit(v)) FAIL_CHECK(text(from) << " " << w);
      }
}

TEST_CASE("evaluate: casts among integers and bool keep the value modulo the width") {
  CHECK(cast(Element::i8, 0x80, Element::i64) == 0xffffffffffffff80);
  CHECK(cast(Element::u8, 0x80, Element::i64) == 0x80);
  CHECK(cast(Element::i8, 0xff, Element::u16) == 0xffff);
  CHECK(cast(Element::i64, 0x123456789, Element::i32) == 0x23456789);
  CHECK(cast(Element::i32, 256, Element::boolean) == 1);
  CHECK(cast(Element::boolean, 1, Element::i8) == 1);
  CHECK(cast(Element::f32, element_bits(Element::f32, kNan), Element::boolean) == 1);
  CHECK(cast(Element::f32, element_bits(Element::f32, -0.0), Element::boolean) == 0);
  CHECK(cast(Element::f16, 1, Element::boolean) == 1);  // a subnormal is not zero
  for (Element e : {Element::f16, Element::bf16, Element::f32, Element::f64, Element::f8e4m3, Element::f8e5m2}) {
    CHECK(float_value(e, cast(Element::boolean, 1, e)) == 1.0);
    CHECK(cast(Element::boolean, 0, e) == 0);
  }
}

TEST_CASE("evaluate: pointers step by elements and offsets keep their sign") {
  const Type offsets[] = {Type::pointer(Element::f32, true), Type(Element::i32)};
  const std::uint64_t minus_two[] = {1000, 0xfffffffe};
  CHECK(evaluate_scalar(OpKind::add_ptr_, offsets, minus_two, offsets[0]) == 992);
  const Type unsigned_offsets[] = {Type::pointer(Element::boolean, false), Type(Element::u32)};
  CHECK(evaluate_scalar(OpKind::add_ptr_, unsigned_offsets, minus_two, unsigned_offsets[0]) == 1000 + 0xfffffffeull);
  const Type choice[] = {Type(Element::boolean), offsets[0], offsets[0]};
  const std::uint64_t words[] = {0, 11, 22};
  CHECK(evaluate_scalar(OpKind::select_, choice, words, offsets[0]) == 22);
}
