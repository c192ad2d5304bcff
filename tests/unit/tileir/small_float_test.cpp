// The small float formats against their definitions, and their rounding against a search of all values.
#include "tilewright/small_float.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace tilewright::detail;

namespace {

struct Named {
  const char* name;
  FloatFormat format;
  double greatest;  // finite
  double least;     // positive
};
constexpr Named kFormats[] = {
    {"f16", kF16, 65504.0, 0x1p-24},
    {"bf16", kBF16, 0x1.fep127, 0x1p-133},
    {"f8e4m3", kF8E4M3, 448.0, 0x1p-9},
    {"f8e5m2", kF8E5M2, 57344.0, 0x1p-16},
};

std::uint32_t sign_of(FloatFormat f) { return 1u << (f.exponent + f.mantissa); }

/// The finite values from 0 up; the index of a value is its code.
std::vector<double> finite_values(FloatFormat f) {
  std::vector<double> v;
  for (std::uint32_t c = 0; c < sign_of(f) && std::isfinite(decode(f, c)); ++c) v.push_back(decode(f, c));
  return v;
}

/// The code nearest to a finite v >= 0, ties to the even code; one past the last finite code where v rounds beyond it.
std::uint32_t nearest(const std::vector<double>& values, double v) {
  const auto above = std::lower_bound(values.begin(), values.end(), v);
  const auto i = static_cast<std::uint32_t>(above - values.begin());
  if (above != values.end() && *above == v) return i;
  // Past the end, the next value would be one more step up.
  const double hi = above != values.end() ? *above : 2 * values.back() - values[values.size() - 2], lo = values[i - 1];
  if (v >= hi) return i;
  const double down = v - lo, up = hi - v;  // exact: all three are close
  if (down != up) return down < up ? i - 1 : i;
  return (i - 1) % 2 == 0 ? i - 1 : i;
}

void check_against_search(const Named& n, const std::vector<double>& values, double v) {
  const std::uint32_t want = nearest(values, v), got = encode(n.format, v);
  if (want < values.size()) {
    CHECK_MESSAGE(got == want, n.name << " of " << v);
    CHECK(encode(n.format, -v) == (want | sign_of(n.format)));
  } else if (n.format.ieee) {
    CHECK_MESSAGE(std::isinf(decode(n.format, got)), n.name << " of " << v);
  } else {
    CHECK_MESSAGE(std::isnan(decode(n.format, got)), n.name << " of " << v);
  }
}

}  // namespace

TEST_CASE("small_float: the range of each format is the standard's") {
  for (const Named& n : kFormats) {
    CAPTURE(n.name);
    const auto values = finite_values(n.format);
    CHECK(values.back() == n.greatest);
    CHECK(values[1] == n.least);
    CHECK(std::is_sorted(values.begin(), values.end()));
    CHECK(std::isnan(decode(n.format, sign_of(n.format) - 1)));
  }
  CHECK(decode(kF16, 0x3c00) == 1.0);
  CHECK(decode(kBF16, 0x3f80) == 1.0);
  CHECK(decode(kF8E4M3, 0x38) == 1.0);
  CHECK(decode(kF8E5M2, 0x3c) == 1.0);
}

TEST_CASE("small_float: every value encodes to its own code") {
  for (const Named& n : kFormats)
    for (std::uint32_t c = 0; c < 2 * sign_of(n.format); ++c) {
      const double v = decode(n.format, c);
      if (std::isnan(v))
        CHECK(std::isnan(decode(n.format, encode(n.format, v))));
      else if (encode(n.format, v) != c)
        FAIL_CHECK(n.name << " code " << c);
    }
}

TEST_CASE("small_float: bf16 is the upper half of a float") {
  for (std::uint32_t c = 0; c < 0x10000; ++c) {
    const float f = std::bit_cast<float>(c << 16);
    if (!std::isnan(f) && static_cast<double>(f) != decode(kBF16, c)) FAIL_CHECK("code " << c);
  }
}

TEST_CASE("small_float: rounding picks the nearest value, ties to even") {
  std::mt19937_64 random(20260101);
  for (const Named& n : kFormats) {
    const auto values = finite_values(n.format);
    const double inf = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < values.size(); i += std::max<std::size_t>(1, values.size() / 3000)) {
      const double middle = (values[i] + values[i + 1]) / 2;
      for (double v : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, inf)}) check_against_search(n, values, v);
    }
    for (int i = 0; i < 20000; ++i) {
      const double v = std::bit_cast<double>(random() >> 1);
      if (std::isfinite(v)) check_against_search(n, values, v);
      // Near the format's own range, where a uniform pattern seldom falls.
      check_against_search(n, values,
                           std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 60) - 30));
    }
  }
}

TEST_CASE("small_float: what overflows becomes infinity, or NaN where there is none") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(f16_from(65519.999) == 0x7bff);
  CHECK(f16_from(65520.0) == 0x7c00);
  CHECK(f16_from(-inf) == 0xfc00);
  CHECK(f8e5m2_from(1e9) == 0x7c);
  CHECK(f8e4m3_from(464.0) == 0x7e);  // the tie goes to 448, whose code is even
  CHECK(f8e4m3_from(464.1) == 0x7f);
  CHECK(f8e4m3_from(inf) == 0x7f);
  CHECK(f8e4m3_from(-inf) == 0xff);
}

TEST_CASE("small_float: NaN stays NaN with its sign; tiny doubles become zeros with theirs") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), tiny = std::numeric_limits<double>::denorm_min();
  for (const Named& n : kFormats) {
    CHECK(std::isnan(decode(n.format, encode(n.format, nan))));
    CHECK((encode(n.format, std::copysign(nan, -1.0)) & sign_of(n.format)) != 0);
    CHECK(encode(n.format, tiny) == 0);
    CHECK(encode(n.format, -tiny) == sign_of(n.format));
    CHECK(encode(n.format, -0.0) == sign_of(n.format));
  }
}
