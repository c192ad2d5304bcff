// The functions of tw::fast for f32: shorter polynomials, scaling in one step, and no special cases outside of the documented range.
#include <limits>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0, kLn2 = 0x1.62e43p-1;
constexpr double kLn2High = 0.693359375, kLn2Low = -0x1.bd0106p-13;  // products of the high part and an exponent are exact
constexpr double kInversePi = 0x1.45f306p-2;
constexpr double kPi[] = {0x1.921fb6p+1, -0x1.777a5cp-24};
constexpr double kPiInShortParts[] = {0x1.92p+1, 0x1.fb4p-11, 0x1.4442d2p-23};  // products with integers up to 2^13 are exact

// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2, error relative to e^r: 2^-23.2.
constexpr double kExp[] = {0x1.fffdfcp-2, 0x1.5557bp-3, 0x1.572a3p-5, 0x1.1061dep-7};
// (log(1 + f) - f + f^2 / 2) / f^3 for |f| <= 1/3, error relative to log(1 + f): 2^-22.3.
constexpr double kLog[] = {0x1.555dcep-2, -0x1.000c36p-2, 0x1.95f6dap-3, -0x1.51278cp-3, 0x1.5b71cp-3, -0x1.36cf14p-3};
// (sin(r) / r - 1) / r^2 in r^2 for |r| <= pi/2: 2^-27.3.
constexpr double kSin[] = {-0x1.55554cp-3, 0x1.110edap-7, -0x1.9f70eep-13, 0x1.5dc8c4p-19};

constexpr std::int64_t kTwoThirds = 0x3f2aaaab;

/// x - n y, where y is given in parts short enough for the target's multiplications to be exact.
Expr reduced(Expr x, Expr n, std::span<const double> with_fma, std::span<const double> without) {
  for (double part : x.emitter->has_fma() ? with_fma : without) x = mad(n, -part, x);
  return x;
}

/// sin(x) or, with `quarter`, cos(x): x = m pi + r with |r| <= pi / 2, m an integer or halfway between two; then the sign of sin(r).
Expr fast_wave(Expr x, bool quarter) {
  const double magic = kF32.magic();
  const Expr t = quarter ? mad(x, kInversePi, 0.5) + magic : mad(x, kInversePi, magic);
  const Expr n = t - magic;
  const Expr r = reduced(x, quarter ? n - 0.5 : n, kPi, kPiInShortParts), z = r * r;
  const Expr y = mad(r * z, polynomial(z, kSin), r);
  return bitcast(unsigned_bits(y) ^ (unsigned_bits(t) << 31), kF32.real);
}

}  // namespace

Expr fast_exp(Expr x) {
  // The scale 2^n is built from its exponent field, whose extremes are 0 and infinity: the limits are the arguments that reach these.
  constexpr double kLn2Only[] = {kLn2}, kLn2Parts[] = {kLn2High, kLn2Low};
  const double magic = kF32.magic() + kF32.bias;
  const Expr y = at_least(at_most(x, 88.9), -87.9);
  const Expr t = mad(y, kLog2E, magic);
  const Expr r = reduced(y, t - magic, kLn2Only, kLn2Parts);
  return scale_normal(mad(mad(polynomial(r, kExp), r, 1.0), r, 1.0), t);
}

Expr fast_log(Expr x) {
  const Expr bits = signed_bits(x), k = (bits - kTwoThirds) >> kF32.mantissa;
  const Expr f = bitcast(bits - (k << kF32.mantissa), kF32.real) - 1.0;
  const Expr near = mad(f * f, mad(f, polynomial(f, kLog), -0.5), f);
  // -inf for arguments that have no logarithm; NaN compares false too and stays NaN.
  return select(x > 0.0, mad(cast(k, kF32.real), kLn2, near), x - std::numeric_limits<double>::infinity());
}

Expr fast_sin(Expr x) { return fast_wave(x, false); }
Expr fast_cos(Expr x) { return fast_wave(x, true); }

Expr fast_tanh(Expr x) {
  // Near 0, 1 - 2 / (e^2x + 1) is accurate to an ulp of 1, not of the result.
  return 1.0 - 2.0 / (fast_exp(x + x) + 1.0);
}

}  // namespace tilewright::passes::math
