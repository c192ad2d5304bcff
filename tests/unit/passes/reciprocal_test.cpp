// Quotients that share a reciprocal stay within the 2 ulp that `/` promises on f32, for every pair of magnitudes.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "passes/all_passes.h"
#include "tileir/interpreter/interpreter.h"
#include "tileir/text/parser.h"

namespace tilewright::passes {

namespace {

/// |got - x / s| in units of the last place of the exact quotient; 0 where both are the same infinity or NaN.
double ulp_error(float got, float x, float s) {
  const double want = static_cast<double>(x) / s;  // the quotient of two floats, exact except for the last bits of a double
  const float rounded = static_cast<float>(want);
  if (std::isnan(rounded) || std::isinf(rounded)) {
    if (std::isnan(rounded) ? std::isnan(got) : got == rounded) return 0;
    // The largest float may come out where the exact quotient just rounds to infinity, and the other way round.
    return std::abs(want) < 0x1.000004p128 && std::abs(got) >= 0x1.fffffcp127f && std::signbit(got) == std::signbit(rounded) ? 1 : HUGE_VAL;
  }
  if (std::isinf(got)) return std::abs(want) >= 0x1.fffffcp127 ? 1 : HUGE_VAL;
  const int exponent = std::max(std::ilogb(rounded == 0 ? 0x1p-149f : rounded), -126);
  return std::abs(static_cast<double>(got) - want) / std::ldexp(1.0, exponent - 23);
}

}  // namespace

TEST_CASE("combine: a shared reciprocal is within 2 ulp for every pair of magnitudes") {
  ir::Function f = ir::parse(R"(kernel @quotients(%x: ptr<const f32>, %s: f32, %y: ptr<f32>) {
    %i = arange {lo = 0, hi = 1024} : i32[1024]
    %xb = broadcast %x : ptr<const f32>[1024]
    %xp = add_ptr %xb, %i : ptr<const f32>[1024]
    %yb = broadcast %y : ptr<f32>[1024]
    %yp = add_ptr %yb, %i : ptr<f32>[1024]
    %v = load %xp : f32[1024]
    %d = broadcast %s : f32[1024]
    %q = div %v, %d : f32[1024]
    store %yp, %q
  })",
                             "test.tile")
                       .functions.at(0);
  REQUIRE(combine(f, {}));
  std::mt19937_64 random(7);
  std::vector<float> divisors = {
      0.0f, -0.0f, 1.0f, 3.0f, HUGE_VALF, -HUGE_VALF, NAN, 0x1p-149f, 0x1p-126f, 0x1.fffffep-127f, 0x1p126f, 0x1.fffffep127f, -0x1.8p127f};
  for (int i = 0; i < 150; ++i) divisors.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  double worst = 0;
  for (const float s : divisors) {
    std::vector<float> x = {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, NAN, 0x1p-149f, 0x1.fffffep127f, s, -s}, y(1024, -1);
    while (x.size() < 512) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    // Half of them near the divisor, so that their quotients are ordinary numbers.
    while (x.size() < 1024)
      x.push_back(std::isfinite(s) && s != 0 ? s * static_cast<float>(static_cast<double>(random() >> 40) / 0x1p22) : 1.0f);
    const std::uint64_t words[] = {reinterpret_cast<std::uint64_t>(x.data()), std::bit_cast<std::uint32_t>(s),
                                   reinterpret_cast<std::uint64_t>(y.data())};
    ir::interpret(f, words);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulp_error(y[i], x[i], s);
      CAPTURE(x[i]);
      CAPTURE(s);
      CAPTURE(y[i]);
      REQUIRE(error <= 2);
      worst = std::max(worst, error);
    }
  }
  CHECK(worst > 0.6);  // it is the shared form that was tested, not an exact division
}

}  // namespace tilewright::passes
