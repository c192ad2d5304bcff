// log, log2, log10 and log1p: x = 2^k m with m around 1, and a series in m - 1.
#include <limits>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

// (log(1 + f) - f + f^2 / 2) / f^3 for |f| <= 1/3, error relative to log(1 + f): 2^-27.7.
constexpr double kLog32[] = {0x1.555506p-2, -0x1.fffeep-3,  0x1.99d086p-3, -0x1.55a128p-3,
                             0x1.1ecfccp-3, -0x1.f2a7cap-4, 0x1.1e8fe8p-3, -0x1.0904a4p-3};
// (log2(1 + f) / f - log2(e)) / f for 1 + f in [sqrt(1/2), sqrt 2]: 2^-27.5.
constexpr double kLog2_32[] = {-0x1.71547p-1, 0x1.ec7078p-2,  -0x1.715b14p-2, 0x1.2786fcp-2, -0x1.eaa876p-3,
                               0x1.a18e04p-3, -0x1.867e96p-3, 0x1.86d6bcp-3,  -0x1.de66fep-4};
// (log10(1 + f) / f - log10(e)) / f for the same range: 2^-26.3.
constexpr double kLog10_32[] = {-0x1.bcb7bp-3, 0x1.287a6ap-3,  -0x1.bcbb1cp-4, 0x1.63d298p-4, -0x1.27ced6p-4,
                                0x1.f83b34p-5, -0x1.d10baep-5, 0x1.cbb71p-5,   -0x1.1f2e56p-5};
// (2 atanh(s) / s - 2) / s^2 in s^2, for s = f / (2 + f) with 1 + f in [sqrt(1/2), sqrt 2]: 2^-59.5.
constexpr double kLog64[] = {0x1.5555555555593p-1, 0x1.999999997f9d7p-2, 0x1.249249422dec3p-2, 0x1.c71c51d369522p-3,
                             0x1.74664ade46409p-3, 0x1.39a07023fafccp-3, 0x1.2f133a8b3dd77p-3};

constexpr std::int64_t kTwoThirds32 = 0x3f2aaaab, kSqrtHalf32 = 0x3f3504f3;
constexpr std::int64_t kSqrtHalf64 = 0x3fe6a09e667f3bcd;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The logarithm outside of (0, inf): -inf at 0, NaN below; inf and NaN are returned unchanged.
Expr with_special_cases(Expr x, Expr y) {
  const Expr at_or_below_zero = select(x == 0.0, -kInfinity, like(x, kNaN));
  const Expr positive = select(x < kInfinity, y, x);
  return select(x <= 0.0, at_or_below_zero, positive);
}

/// log(1 + f) = f - (half_square - rest), for f64.
struct Series {
  Expr f, half_square, rest;
};
Series series64(Expr f) {
  // As in fdlibm: 2 atanh(s) = f - s (f - R) = f - (f^2/2 - s (f^2/2 + R)), R = s^2 P(s^2).
  const Expr s = f / (f + 2.0), z = s * s, half_square = f * 0.5 * f;
  return {f, half_square, s * mad(z, polynomial(z, kLog64), half_square)};
}

}  // namespace

Decomposed decompose(Expr x, std::int64_t low_bits) {
  // Subnormals are scaled up, and k is corrected by the scale.
  const Format& f = format_of(x);
  const int shift = f.mantissa + 1;
  const double least_normal = f.bias == 127 ? 0x1p-126 : 0x1p-1022;
  const Expr tiny = x < least_normal;
  const Expr bits = signed_bits(select(tiny, x * static_cast<double>(std::int64_t{1} << shift), x));
  const Expr k = (bits - low_bits) >> f.mantissa;
  const Expr m = bitcast(bits - (k << f.mantissa), f.real);
  // The conversion goes through i32, which every vector unit can convert.
  return {m, cast(cast(k, ir::Element::i32), f.real) + select(tiny, like(x, -static_cast<double>(shift)), 0.0)};
}

Expr log(Expr x) {
  if (x.element() == ir::Element::f32) {
    const auto [m, k] = decompose(x, kTwoThirds32);
    const Expr f = m - 1.0, z = f * f;
    const Expr r = mad(z, mad(f, polynomial(f, kLog32), -0.5), mad(k, -0x1.bd0106p-13, f));
    return with_special_cases(x, mad(k, 0.693359375, r));
  }
  const auto [m, k] = decompose(x, kSqrtHalf64);
  const auto [f, half_square, rest] = series64(m - 1.0);
  const Expr r = f - (half_square - mad(k, 0x1.a39ef35793c76p-33, rest));
  return with_special_cases(x, mad(k, 0x1.62e42feep-1, r));
}

Expr log1p(Expr x) {
  // log(u) of the rounded u = 1 + x, and the rounding error `lost` of that sum: log(1 + x) = log(u) + lost / u. Near 0, f is x itself.
  const bool single = x.element() == ir::Element::f32;
  const Expr near = single ? abs(x) < 0.33 : abs(x) < 0.29;
  const Expr u = x + 1.0;
  const auto [m, k_of_u] = decompose(u, single ? kTwoThirds32 : kSqrtHalf64);
  const Expr k = select(near, 0.0, k_of_u);
  const Expr f = select(near, x, m - 1.0);
  // Exact, since the greater of x and 1 comes first.
  const Expr lost = select(x > 1.0, 1.0 - (u - x), x - (u - 1.0));
  const Expr c = select(near, 0.0, lost / u);
  Expr y;
  if (single) {
    const Expr r = mad(f * f, mad(f, polynomial(f, kLog32), -0.5), mad(k, -0x1.bd0106p-13, c) + f);
    y = mad(k, 0.693359375, r);
  } else {
    const auto [g, half_square, rest] = series64(f);
    y = mad(k, 0x1.62e42feep-1, g - (half_square - (mad(k, 0x1.a39ef35793c76p-33, c) + rest)));
  }
  // 0 keeps its sign.
  return select(x == 0.0, x, with_special_cases(u, y));
}

Expr log2(Expr x) {
  if (x.element() == ir::Element::f32) {
    // f log2(e) in two parts, and k is added last: for -1/2 < log2(m) < 1/2 it adds no error of its own.
    constexpr double kLog2EHigh = 0x1.715476p+0, kLog2ELow = 0x1.4ae0cp-26;
    const auto [m, k] = decompose(x, kSqrtHalf32);
    const Expr f = m - 1.0;
    const Expr tail = mad(f, kLog2ELow, f * f * polynomial(f, kLog2_32));
    return with_special_cases(x, mad(f, kLog2EHigh, tail) + k);
  }
  // log(m) in two parts; the high one is short enough that its product with the high part of log2(e) is exact (FreeBSD's e_log2.c).
  constexpr double kLog2EHigh = 0x1.71547652p+0, kLog2ELow = 0x1.705fc2eefa2p-33;
  const auto [m, k] = decompose(x, kSqrtHalf64);
  const auto [f, half_square, rest] = series64(m - 1.0);
  const Expr high = bitcast(signed_bits(f - half_square) & ~std::int64_t{0xffffffff}, kF64.real);
  const Expr low = (f - high) - half_square + rest;
  const Expr product = high * kLog2EHigh;
  const Expr product_low = mad(low + high, kLog2ELow, low * kLog2EHigh);
  const Expr sum = k + product;
  return with_special_cases(x, sum + (((k - sum) + product) + product_low));
}

Expr log10(Expr x) {
  if (x.element() == ir::Element::f32) {
    // log10(e) and log10(2) in two parts; k times the high part of log10(2) is exact.
    constexpr double kLog10EHigh = 0x1.bcb7b2p-2, kLog10ELow = -0x1.5b235ep-27;
    const auto [m, k] = decompose(x, kSqrtHalf32);
    const Expr f = m - 1.0;
    const Expr tail = mad(k, -0x1.95ec1p-19, mad(f, kLog10ELow, f * f * polynomial(f, kLog10_32)));
    return with_special_cases(x, mad(k, 0x1.3442p-2, mad(f, kLog10EHigh, tail)));
  }
  // As in log2, with k log10(2) in two parts (FreeBSD's e_log10.c).
  constexpr double kLog10EHigh = 0x1.bcb7b152p-2, kLog10ELow = 0x1.b9438ca9aadd5p-36;
  const auto [m, k] = decompose(x, kSqrtHalf64);
  const auto [f, half_square, rest] = series64(m - 1.0);
  const Expr high = bitcast(signed_bits(f - half_square) & ~std::int64_t{0xffffffff}, kF64.real);
  const Expr low = (f - high) - half_square + rest;
  const Expr product = high * kLog10EHigh;
  const Expr product_low = mad(k, -0x1.80433b83b532ap-44, mad(low + high, kLog10ELow, low * kLog10EHigh));
  const Expr whole = k * 0x1.34413509f8p-2, sum = whole + product;
  return with_special_cases(x, sum + (((whole - sum) + product) + product_low));
}

}  // namespace tilewright::passes::math
