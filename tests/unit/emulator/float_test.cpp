// Floating-point instructions of the emulator: IEEE results bit for bit, and conversions against a search of all numbers of a format.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cmath>

#include "runtime/emulator/simd/small_float.h"
#include "tests/unit/emulator/harness.h"

namespace tilewright::rt::emulator {
namespace {

constexpr std::size_t kRows = 3000;

template <class T, class F>
void check_two(const std::string& op, F f) {
  const auto a = floats<T>(kRows, 1), b = floats<T>(kRows, 2);
  const auto got = apply<T>(op + " $d, $a, $b;", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    const T expected = f(a[i], b[i]);
    if (!same(got[i], expected)) {
      FAIL_CHECK(fmt::format("{} of {:a} and {:a}: {:a} instead of {:a}", op, a[i], b[i], got[i], expected));
      return;
    }
  }
  CHECK(true);
}

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

/// The result of rounding x to a format, found by search among all its finite numbers.
class Numbers {
 public:
  explicit Numbers(const FloatFormat& format) : format_(format) {
    for (u64 bits = 0; bits <= format.largest(); ++bits) values_.push_back(widen(bits, format));
  }
  u64 round(double x, Rounding rounding) const {
    const u64 sign = std::signbit(x) ? format_.sign() : 0;
    const double size = std::fabs(x);
    const bool away = rounding == (std::signbit(x) ? Rounding::down : Rounding::up);
    const auto above = std::lower_bound(values_.begin(), values_.end(), size);
    const u64 high = static_cast<u64>(above - values_.begin());
    if (above != values_.end() && *above == size) return sign | high;
    const u64 low = high - 1;
    // One quantum above the largest number begins infinity.
    const double top = above == values_.end() ? 2 * values_[low] - values_[low - 1] : *above;
    bool up = away;
    if (rounding == Rounding::nearest_even) {
      const double below = size - values_[low], ahead = top - size;
      up = ahead < below || (ahead == below && (low & 1));
    }
    return sign | (up ? (above == values_.end() ? (format_.has_infinity ? format_.infinity() : format_.nan()) : high) : low);
  }

 private:
  FloatFormat format_;
  std::vector<double> values_;
};

template <class Word>
void check_narrowing(const std::string& op, const FloatFormat& format, Rounding rounding) {
  const Numbers numbers(format);
  auto a = floats<float>(kRows, 7);
  std::mt19937 random(8);
  // Near the format's own numbers, where roundings differ.
  for (std::size_t i = 0; i < kRows; i += 2)
    a[i] = std::nextafter(static_cast<float>(widen(random() % format.largest(), format)) * (random() % 2 ? 1.0f : 1.0005f),
                          (random() % 2 ? 1e9f : 0.0f));
  const auto got = apply<Word>(op + " $d, $a;", a);
  for (std::size_t i = 0; i < kRows; ++i) {
    const u64 expected = std::isnan(a[i])   ? format.nan()
                         : std::isinf(a[i]) ? (std::signbit(a[i]) ? format.sign() : 0) | format.infinity()
                                            : numbers.round(a[i], rounding);
    if (got[i] != expected) {
      FAIL_CHECK(fmt::format("{} of {:a}: 0x{:x} instead of 0x{:x}", op, a[i], got[i], expected));
      return;
    }
  }
  CHECK(true);
}

template <class Int>
Int clamped(double x) {
  if (std::isnan(x)) return sizeof(Int) == 8 ? static_cast<Int>(u64{1} << 63) : Int{0};
  if (x >= std::ldexp(1.0, std::numeric_limits<Int>::digits)) return std::numeric_limits<Int>::max();
  if (x < static_cast<double>(std::numeric_limits<Int>::min())) return std::numeric_limits<Int>::min();
  return static_cast<Int>(x);
}

template <class Int, class F>
void check_to_integer(const std::string& op, F rounding) {
  const auto a = floats<float>(kRows, 9);
  const auto got = apply<Int>(op + " $d, $a;", a);
  for (std::size_t i = 0; i < kRows; ++i)
    if (got[i] != clamped<Int>(rounding(static_cast<double>(a[i])))) {
      FAIL_CHECK(fmt::format("{} of {:a}: {}", op, a[i], got[i]));
      return;
    }
  CHECK(true);
}

}  // namespace

TEST_CASE("emulator floats: sums, products and quotients are IEEE's") {
  check_two<float>("add.f32", [](float a, float b) { return a + b; });
  check_two<float>("sub.rn.f32", [](float a, float b) { return a - b; });
  check_two<float>("mul.f32", [](float a, float b) { return a * b; });
  check_two<float>("div.rn.f32", [](float a, float b) { return a / b; });
  check_two<double>("add.f64", [](double a, double b) { return a + b; });
  check_two<double>("mul.rn.f64", [](double a, double b) { return a * b; });
  check_two<double>("div.rn.f64", [](double a, double b) { return a / b; });
  check_two<float>("add.ftz.f32", [](float a, float b) { return flushed(flushed(a) + flushed(b)); });
  check_two<float>("mul.ftz.f32", [](float a, float b) { return flushed(flushed(a) * flushed(b)); });
  check_two<float>("add.sat.f32", [](float a, float b) { return a + b > 0 ? std::min(a + b, 1.0f) : 0.0f; });
}

TEST_CASE("emulator floats: fma rounds once") {
  const auto a = floats<float>(kRows, 3), b = floats<float>(kRows, 4), c = floats<float>(kRows, 5);
  const auto got = apply<float>("fma.rn.f32 $d, $a, $b, $c;", a, b, c);
  for (std::size_t i = 0; i < kRows; ++i) REQUIRE(same(got[i], std::fma(a[i], b[i], c[i])));
  const auto x = floats<double>(kRows, 3), y = floats<double>(kRows, 4), z = floats<double>(kRows, 5);
  const auto wide = apply<double>("fma.rn.f64 $d, $a, $b, $c;", x, y, z);
  for (std::size_t i = 0; i < kRows; ++i) REQUIRE(same(wide[i], std::fma(x[i], y[i], z[i])));
}

TEST_CASE("emulator floats: a NaN result is the canonical one") {
  const std::vector<float> a = {INFINITY, -NAN, 0.0f}, b = {-INFINITY, 1.0f, NAN};
  for (float x : apply<float>("add.f32 $d, $a, $b;", a, b)) CHECK(std::bit_cast<u32>(x) == 0x7fffffff);
}

TEST_CASE("emulator floats: directed roundings bracket the exact result") {
  const auto a = floats<float>(kRows, 1), b = floats<float>(kRows, 2);
  const auto down = apply<float>("mul.rm.f32 $d, $a, $b;", a, b), up = apply<float>("mul.rp.f32 $d, $a, $b;", a, b),
             zero = apply<float>("mul.rz.f32 $d, $a, $b;", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    const double exact = static_cast<double>(a[i]) * b[i];  // 48 bits
    if (std::isnan(exact) || std::isinf(exact)) continue;
    REQUIRE(down[i] <= exact);
    REQUIRE(up[i] >= exact);
    REQUIRE((down[i] == up[i] || std::nextafter(down[i], INFINITY) == up[i]));
    REQUIRE(same(zero[i], std::signbit(exact) ? up[i] : down[i]));
  }
}

TEST_CASE("emulator floats: minimum and maximum prefer numbers to NaN unless told otherwise, and order zeros") {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> a = {1, nan, nan, -0.0f, 0.0f, -2}, b = {2, 3, nan, 0.0f, -0.0f, -INFINITY};
  const auto low = apply<float>("min.f32 $d, $a, $b;", a, b), high = apply<float>("max.f32 $d, $a, $b;", a, b),
             strict = apply<float>("max.NaN.f32 $d, $a, $b;", a, b);
  const std::vector<float> expected_low = {1, 3, nan, -0.0f, -0.0f, -INFINITY}, expected_high = {2, 3, nan, 0.0f, 0.0f, -2},
                           expected_strict = {2, nan, nan, 0.0f, 0.0f, -2};
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(same(low[i], expected_low[i]));
    CHECK(same(high[i], expected_high[i]));
    CHECK(same(strict[i], expected_strict[i]));
  }
}

TEST_CASE("emulator floats: comparisons know NaN") {
  const auto a = floats<float>(kRows, 1), b = floats<float>(kRows, 2);
  const auto ordered = apply<u32>("setp.le.f32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  const auto unordered = apply<u32>("setp.leu.f32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  const auto differ = apply<u32>("setp.ne.f32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  const auto nan = apply<u32>("setp.nan.f32 %p1, $a, $b; selp.b32 $d, 1, 0, %p1;", a, b);
  for (std::size_t i = 0; i < kRows; ++i) {
    const bool is_nan = std::isnan(a[i]) || std::isnan(b[i]);
    REQUIRE(ordered[i] == (a[i] <= b[i]));
    REQUIRE(unordered[i] == (is_nan || a[i] <= b[i]));
    REQUIRE(differ[i] == (!is_nan && a[i] != b[i]));
    REQUIRE(nan[i] == is_nan);
  }
}

TEST_CASE("emulator conversions: narrowing rounds as each mode says") {
  check_narrowing<u16>("cvt.rn.f16.f32", kF16, Rounding::nearest_even);
  check_narrowing<u16>("cvt.rz.f16.f32", kF16, Rounding::zero);
  check_narrowing<u16>("cvt.rm.f16.f32", kF16, Rounding::down);
  check_narrowing<u16>("cvt.rp.f16.f32", kF16, Rounding::up);
  check_narrowing<u16>("cvt.rn.bf16.f32", kBf16, Rounding::nearest_even);
  check_narrowing<u16>("cvt.rz.bf16.f32", kBf16, Rounding::zero);
}

TEST_CASE("emulator conversions: fp8 pairs saturate to finite numbers") {
  const Numbers e4m3(kE4m3), e5m2(kE5m2);
  const auto a = floats<float>(kRows, 10), b = floats<float>(kRows, 11);
  const auto got4 = apply<u16>("cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b;", a, b),
             got5 = apply<u16>("cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b;", a, b);
  const auto expected = [](float x, const Numbers& numbers, const FloatFormat& format) {
    if (std::isnan(x)) return format.nan();
    const u64 sign = std::signbit(x) ? format.sign() : 0;
    if (std::isinf(x) || std::fabs(x) > widen(format.largest(), format)) return sign | format.largest();
    return numbers.round(x, Rounding::nearest_even);
  };
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(got4[i] == (expected(a[i], e4m3, kE4m3) << 8 | expected(b[i], e4m3, kE4m3)));
    REQUIRE(got5[i] == (expected(a[i], e5m2, kE5m2) << 8 | expected(b[i], e5m2, kE5m2)));
  }
}

TEST_CASE("emulator conversions: widening is exact for all 65536 bit patterns") {
  std::vector<u16> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<u16>(i);
  const auto f16 = apply<float>("cvt.f32.f16 $d, $a;", all), bf16 = apply<float>("cvt.f32.bf16 $d, $a;", all);
  const auto again = apply<u16>("cvt.rn.f16.f32 $d, $a;", f16);
  for (std::size_t i = 0; i < all.size(); ++i) {
    REQUIRE(same(f16[i], static_cast<float>(widen(i, kF16))));
    REQUIRE(same(bf16[i], static_cast<float>(widen(i, kBf16))));
    if (!std::isnan(f16[i])) REQUIRE(again[i] == i);
  }
}

TEST_CASE("emulator conversions: floats to integers clamp, and NaN is what PTX says") {
  check_to_integer<s32>("cvt.rzi.s32.f32", [](double x) { return std::trunc(x); });
  check_to_integer<s32>("cvt.rni.s32.f32", [](double x) { return std::nearbyint(x); });
  check_to_integer<s32>("cvt.rmi.s32.f32", [](double x) { return std::floor(x); });
  check_to_integer<u32>("cvt.rzi.u32.f32", [](double x) { return std::trunc(x); });
  check_to_integer<u32>("cvt.rpi.u32.f32", [](double x) { return std::ceil(x); });
  check_to_integer<s64>("cvt.rzi.s64.f32", [](double x) { return std::trunc(x); });
  check_to_integer<u16>("cvt.rzi.u16.f32", [](double x) { return std::trunc(x); });
}

TEST_CASE("emulator conversions: integers to floats round once") {
  const auto a = integers<s64>(kRows, 12);
  const auto near = apply<float>("cvt.rn.f32.s64 $d, $a;", a);
  const auto zero = apply<float>("cvt.rz.f32.s64 $d, $a;", a);
  const auto wide = apply<double>("cvt.rn.f64.s64 $d, $a;", a);
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(near[i] == static_cast<float>(a[i]));
    REQUIRE(wide[i] == static_cast<double>(a[i]));
    std::fesetround(FE_TOWARDZERO);
    volatile s64 value = a[i];
    volatile float expected = static_cast<float>(value);
    std::fesetround(FE_TONEAREST);
    REQUIRE(zero[i] == expected);
  }
}

TEST_CASE("emulator conversions: integers are cut, extended and saturated") {
  const auto a = integers<s32>(kRows, 13);
  const auto byte = apply<s32>("cvt.s32.s8 $d, $a;", a), sat = apply<s32>("cvt.sat.s8.s32 $d, $a;", a);
  const auto bytes = apply<u32>("cvt.u32.u8 $d, $a;", a), positive = apply<u32>("cvt.sat.u16.s32 $d, $a;", a);
  const auto wide = apply<s64>("cvt.s64.s32 $d, $a;", a);
  for (std::size_t i = 0; i < kRows; ++i) {
    REQUIRE(byte[i] == static_cast<s8>(a[i]));
    REQUIRE(bytes[i] == static_cast<u8>(a[i]));
    REQUIRE(sat[i] == std::clamp(a[i], -128, 127));
    REQUIRE(positive[i] == static_cast<u32>(std::clamp(a[i], 0, 65535)));
    REQUIRE(wide[i] == a[i]);
  }
}

TEST_CASE("emulator halves: each operation rounds once") {
  const Numbers numbers(kF16);
  std::mt19937 random(14);
  std::vector<u16> a(kRows), b(kRows), c(kRows);
  for (std::size_t i = 0; i < kRows; ++i)
    a[i] = static_cast<u16>(random()), b[i] = static_cast<u16>(random()), c[i] = static_cast<u16>(random());
  const auto sum = apply<u16>("add.f16 $d, $a, $b;", a, b), product = apply<u16>("mul.f16 $d, $a, $b;", a, b),
             fused = apply<u16>("fma.rn.f16 $d, $a, $b, $c;", a, b, c);
  const auto check = [&](u16 got, double exact) {
    if (std::isnan(exact)) return got == 0x7fff;
    if (std::isinf(exact)) return got == (std::signbit(exact) ? 0xfc00 : 0x7c00);
    return got == numbers.round(exact, Rounding::nearest_even);
  };
  for (std::size_t i = 0; i < kRows; ++i) {
    const double x = widen(a[i], kF16), y = widen(b[i], kF16), z = widen(c[i], kF16);
    REQUIRE(check(sum[i], x + y));  // exact in double
    REQUIRE(check(product[i], x * y));
    // 22 bits of a product and 11 of a summand are exact in 64 bits unless they are far apart; long double has 64.
    const long double exact = static_cast<long double>(x) * y + z;
    if (static_cast<long double>(static_cast<double>(exact)) == exact || std::isnan(x * y + z))
      REQUIRE(check(fused[i], static_cast<double>(exact)));
  }
}

TEST_CASE("emulator halves: pairs are two of one, sat and relu clamp") {
  std::mt19937 random(15);
  std::vector<u32> a(kRows), b(kRows);
  std::vector<u16> low(kRows), high(kRows), low_b(kRows), high_b(kRows);
  for (std::size_t i = 0; i < kRows; ++i) {
    a[i] = static_cast<u32>(random()), b[i] = static_cast<u32>(random());
    low[i] = static_cast<u16>(a[i]), high[i] = static_cast<u16>(a[i] >> 16), low_b[i] = static_cast<u16>(b[i]),
    high_b[i] = static_cast<u16>(b[i] >> 16);
  }
  for (const char* op : {"add.f16", "mul.f16", "sub.sat.f16", "max.f16", "min.NaN.f16", "mul.bf16", "max.bf16"}) {
    const std::string one = op, two = one + "x2";
    const auto pairs = apply<u32>(two + " $d, $a, $b;", a, b);
    const auto first = apply<u16>(one + " $d, $a, $b;", low, low_b), second = apply<u16>(one + " $d, $a, $b;", high, high_b);
    for (std::size_t i = 0; i < kRows; ++i) REQUIRE(pairs[i] == (static_cast<u32>(second[i]) << 16 | first[i]));
  }
  for (u16 x : apply<u16>("fma.rn.relu.f16 $d, $a, $b, $a;", low, low_b)) REQUIRE((x & 0x8000) == 0);
}

TEST_CASE("emulator special functions: ex2 of any float is the exact power of two, rounded once") {
  std::mt19937 random(17);
  std::vector<float> a;
  for (std::size_t i = 0; i < 20 * kRows; ++i) a.push_back(std::bit_cast<float>(static_cast<u32>(random())));
  for (std::size_t i = 0; i < 20 * kRows; ++i) a.push_back(static_cast<float>(random()) / 0x1p24f - 128);
  for (const float corner : {0.0f, -0.0f, 127.99999f, 128.0f, -126.0f, -149.0f, -149.5f, -150.0f, -151.0f}) a.push_back(corner);
  const auto exp2 = apply<float>("ex2.approx.f32 $d, $a;", a);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto exact = static_cast<float>(std::exp2(static_cast<double>(a[i])));
    INFO(a[i]);
    REQUIRE(std::bit_cast<u32>(exp2[i]) == (std::isnan(exact) ? 0x7fffffffu : std::bit_cast<u32>(exact)));
  }
}

TEST_CASE("emulator special functions: correctly rounded, within what PTX allows") {
  std::vector<float> a;
  std::mt19937 random(16);
  for (std::size_t i = 0; i < kRows; ++i)
    a.push_back(std::ldexp(static_cast<float>(random() % 16777216) / 16777216, static_cast<int>(random() % 16) - 8));
  const auto exp2 = apply<float>("ex2.approx.f32 $d, $a;", a), log2 = apply<float>("lg2.approx.f32 $d, $a;", a),
             root = apply<float>("sqrt.rn.f32 $d, $a;", a), inverse = apply<float>("rsqrt.approx.f32 $d, $a;", a),
             tanh = apply<float>("tanh.approx.f32 $d, $a;", a), rcp = apply<float>("rcp.rn.f32 $d, $a;", a),
             quotient = apply<float>("div.full.f32 $d, 1.0, $a;", a);
  for (std::size_t i = 0; i < kRows; ++i) {
    const double x = a[i];
    REQUIRE(same(exp2[i], static_cast<float>(std::exp2(x))));
    REQUIRE(same(log2[i], static_cast<float>(std::log2(x))));
    REQUIRE(same(root[i], std::sqrt(a[i])));
    REQUIRE(same(inverse[i], static_cast<float>(1 / std::sqrt(x))));
    REQUIRE(same(tanh[i], static_cast<float>(std::tanh(x))));
    REQUIRE(same(rcp[i], 1 / a[i]));
    REQUIRE(same(quotient[i], 1 / a[i]));
  }
  CHECK(apply<float>("div.approx.f32 $d, $a, $b;", std::vector<float>{3.0f}, std::vector<float>{0x1p127f})[0] == 0);
  CHECK(apply<float>("ex2.approx.ftz.f32 $d, $a;", std::vector<float>{-130.0f})[0] == 0);
  CHECK(apply<float>("ex2.approx.f32 $d, $a;", std::vector<float>{-130.0f})[0] == 0x1p-130f);
}

}  // namespace tilewright::rt::emulator
