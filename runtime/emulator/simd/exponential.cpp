// Computes a polynomial in double precision, in vector instructions if the processor has them.
#include "runtime/emulator/simd/exponential.h"

#include <array>
#include <bit>

namespace tilewright::rt::emulator {
namespace {

// ln(2)^k / k!
constexpr std::array kTaylor = {0x1p+0,
                                0x1.62e42fefa39efp-1,
                                0x1.ebfbdff82c58fp-3,
                                0x1.c6b08d704a0cp-5,
                                0x1.3b2ab6fba4e77p-7,
                                0x1.5d87fe78a6731p-10,
                                0x1.430912f86c787p-13,
                                0x1.ffcbfc588b0c7p-17,
                                0x1.62c0223a5c824p-20,
                                0x1.b5253d395e7c4p-24,
                                0x1.e4cf5158b8ecap-28,
                                0x1.e8cac7351bb25p-32,
                                0x1.c3bd650fc1e3p-36,
                                0x1.816193166d0f9p-40};

/// The sum of the terms from k on, divided by x^k.
template <std::size_t k>
double series(double x) {
  if constexpr (k + 1 == kTaylor.size())
    return kTaylor[k];
  else
    return series<k + 1>(x) * x + kTaylor[k];
}

/// Compared with the C library's exp2 of doubles for every float: rounded to f32 the results are equal, with and without fused
/// multiply-adds.
inline float power_of_two(float x) {
  // Beyond these limits all results are 0 or infinite.
  const float from_below = x < -200.0f ? -200.0f : x;
  const double clamped = from_below > 200.0f ? 200.0f : from_below;
  // Adding this number rounds to an integer, which the low bits then hold.
  constexpr double kShift = 0x1.8p52;
  const double shifted = clamped + kShift, rest = clamped - (shifted - kShift);
  return static_cast<float>(series<0>(rest) * std::bit_cast<double>((std::bit_cast<u64>(shifted) + 1023) << 52));
}

using Powers = void (*)(float* __restrict result, LanesInPlace<float> x);

void one_by_one(float* __restrict result, LanesInPlace<float> x) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = power_of_two(x[lane]);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void by_avx2(float* __restrict result, LanesInPlace<float> x) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = power_of_two(x[lane]);
}
#endif

Powers fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return by_avx2;
#endif
  return one_by_one;
}

}  // namespace

void exp2_lanes(Lanes<float>& result, LanesInPlace<float> x) {
  static const Powers powers = fastest();
  powers(result.at, x);
}

}  // namespace tilewright::rt::emulator
