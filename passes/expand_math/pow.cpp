// pow: 2^(y log2 |x|), with a logarithm so precise that y may multiply its error, and the special cases of C.
#include <limits>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSqrtHalf64 = 0x3fe6a09e667f3bcd;

// For f32, in f64. 2 atanh(s) / s / ln2 in s^2, for s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt 2]: 2^-37.8.
constexpr double kLogShort[] = {0x1.71547652bef0fp+1, 0x1.ec709d1167756p-1, 0x1.2777810437127p-1, 0x1.a58cfcf51306dp-2,
                                0x1.5cf2e5b228e1ep-2};
// (2^r - 1) / r for |r| <= 1/2: 2^-28.9.
constexpr double kExp2Short[] = {0x1.62e430af30514p-1, 0x1.ebfbdc3c9a0f5p-3,  0x1.c6aee886bd797p-5,
                                 0x1.3b2d4c99bb8b5p-7, 0x1.5f3e560e5c6ebp-10, 0x1.41fbfb80d55acp-13};
// For f64: ((2 atanh(s) / s - 2) / s^2 - 2/3) / s^2 / ln2 in s^2, error relative to the logarithm: 2^-73.4.
constexpr double kLogTail[] = {0x1.2776c50ef9bfcp-1, 0x1.a61762a7aede9p-2, 0x1.484b13d6abce8p-2, 0x1.0c9a853ba4e2ap-2,
                               0x1.c68ee8f164d04p-3, 0x1.8a09ca4f1dbp-3,   0x1.58fb35509c3f3p-3, 0x1.61fef62cc9c86p-3};
// The coefficients of exp2, with an error of 2^-57.1.
constexpr double kExp2[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5b3p-3,  0x1.c6b08d704a26fp-5,  0x1.3b2ab6fb9daddp-7,
                            0x1.5d87fe784535dp-10, 0x1.4309131675bb7p-13, 0x1.ffcbfe68c75b4p-17, 0x1.62bfb4b5eb7dfp-20,
                            0x1.b5207c80ae885p-24, 0x1.e63b6826fd05p-28,  0x1.f0f2d57c7b2fep-32};

/// high + low, where |low| is about an ulp of high at most.
struct Double2 {
  Expr high, low;
};

/// -inf at 0; infinity and NaN are returned unchanged.
Expr with_limits(Expr magnitude, Expr logarithm) {
  return select(magnitude == 0.0, -kInfinity, select(magnitude < kInfinity, logarithm, magnitude));
}

/// 2^(y log2(magnitude)) for f32 values held in f64: no subnormals there, and no overflow before the final rounding to f32.
Expr power_short(Expr magnitude, Expr y) {
  const Expr bits = signed_bits(magnitude);
  const Expr k = (bits - kSqrtHalf64) >> 52;
  const Expr m = bitcast(bits - (k << 52), kF64.real);
  const Expr s = (m - 1.0) / (m + 1.0);
  const Expr logarithm = mad(s, polynomial(s * s, kLogShort), cast(cast(k, ir::Element::i32), kF64.real));
  // 2^-200 and 2^200 round to 0 and infinity in f32.
  const Expr p = at_least(at_most(y * with_limits(magnitude, logarithm), 200.0), -200.0);
  const double magic = kF64.magic() + kF64.bias;
  const Expr t = p + magic, r = p - (t - magic);
  return scale_normal(mad(polynomial(r, kExp2Short), r, 1.0), t);
}

/// log2(magnitude), with a relative error of about 2^-64.
Double2 log2_long(Expr magnitude) {
  constexpr double kTwoOverLn2 = 0x1.71547652b82fep+1, kTwoOverLn2Low = 0x1.777d0ffda0d24p-55;
  constexpr double kThirdOfIt = 0x1.ec709dc3a03fdp-1, kThirdOfItLow = 0x1.d27f05548af0cp-55;
  const auto [m, k] = decompose(magnitude, kSqrtHalf64);
  // s = f / (m + 1), with the remainder of the division by the two parts of m + 1.
  const Expr f = m - 1.0, g = m + 1.0, g_low = m - (g - 1.0), inverse = 1.0 / g;
  const Expr s = f * inverse;
  const Expr s_low = fma(-s, g_low, fma(-s, g, f)) * inverse;
  const Expr z = s * s, z_low = mad(s + s, s_low, fma(s, s, -z));
  // log2(m) = s (2/ln2 + z (2/(3 ln2) + z T(z))).
  const Expr v = z * polynomial(z, kLogTail);
  const Expr u = v + kThirdOfIt, u_low = ((kThirdOfIt - u) + v) + kThirdOfItLow;
  const Expr w = z * u, w_low = fma(z, u, -w) + mad(z, u_low, z_low * u);
  const Expr a = w + kTwoOverLn2, a_low = ((kTwoOverLn2 - a) + w) + (w_low + kTwoOverLn2Low);
  const Expr l = s * a, l_low = fma(s, a, -l) + mad(s, a_low, s_low * a);
  const Expr sum = k + l;
  return {sum, ((k - sum) + l) + l_low};
}

/// 2^(y log2(magnitude)) for f64.
Expr power_long(Expr magnitude, Expr y) {
  const auto [logarithm, logarithm_low] = log2_long(magnitude);
  const Expr l = with_limits(magnitude, logarithm);
  const Expr p = y * l;
  // Out of range the low part is infinite or NaN; it is not used.
  const Expr p_low = select(abs(p) < 1100.0, mad(y, logarithm_low, fma(y, l, -p)), 0.0);
  const Expr q = at_least(at_most(p, 1100.0), -1100.0);
  const double magic = kF64.magic() + 2 * kF64.bias;
  const Expr t = q + magic, r = (q - (t - magic)) + p_low;
  return scale_any(mad(polynomial(r, kExp2), r, 1.0), t);
}

}  // namespace

Expr pow(Expr x, Expr y) {
  const bool single = x.element() == ir::Element::f32;
  const Expr magnitude = abs(x);
  Expr power = single ? cast(power_short(cast(magnitude, kF64.real), cast(y, kF64.real)), kF32.real) : power_long(magnitude, y);
  power = select(magnitude == 1.0, 1.0, power);  // otherwise (-1)^inf would be 0 * inf

  const Expr half = y * 0.5, integral = rint(y) == y;
  const Expr odd = integral & (rint(half) != half);
  const Expr negative = signed_bits(x) < 0;
  power = select(negative & odd, -power, power);
  // A negative base, except -0 and -inf, has real powers only for integers; infinite exponents count as even integers.
  const Expr imaginary = (x < 0.0) & (x > -kInfinity) & (integral ^ like(integral, 1));
  power = select(imaginary, kNaN, power);
  return select((y == 0.0) | (x == 1.0), 1.0, power);
}

}  // namespace tilewright::passes::math
