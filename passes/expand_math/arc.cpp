// asin, acos, atan and atan2: odd polynomials near 0, and range reduction to a smaller argument elsewhere.
#include <limits>
#include <numbers>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

// (asin(x) / x - 1) / x^2 in x^2 for |x| <= 1/2, error relative to asin(x): 2^-30.3 and 2^-58.2.
constexpr double kAsin32[] = {0x1.555554p-3, 0x1.3334cep-4, 0x1.6d3e74p-5, 0x1.ffbd92p-6, 0x1.0fec3ap-6, 0x1.1ac0e4p-5};
constexpr double kAsin64[] = {0x1.5555555555556p-3, 0x1.3333333332da2p-4,  0x1.6db6db6e48603p-5, 0x1.f1c71c11deeap-6,  0x1.6e8bb37521acap-6,
                              0x1.1c4d112ced71bp-6, 0x1.c9d30ac3ce817p-7,  0x1.78010220106fp-7,  0x1.532a91490f8afp-7, 0x1.5e2915df0d638p-8,
                              0x1.220541f4ab3acp-6, -0x1.f58c57c572f98p-7, 0x1.dc181d65cb50ap-6};
// (atan(x) / x - 1) / x^2 in x^2 for |x| <= tan(pi / 8), error relative to atan(x): 2^-28.5 and 2^-57.3.
constexpr double kAtan32[] = {-0x1.555554p-2, 0x1.999714p-3, -0x1.241e94p-3, 0x1.b7fe84p-4, -0x1.08256ep-4};
constexpr double kAtan64[] = {-0x1.5555555555555p-2, 0x1.999999999944bp-3, -0x1.249249243f3d5p-3, 0x1.c71c7189d0e78p-4,
                              -0x1.745d0bc5f91d2p-4, 0x1.3b126f7e1d72cp-4, -0x1.10fb142a71c2p-4,  0x1.dfefe11afc08dp-5,
                              -0x1.a0c76950df918p-5, 0x1.41dc6b0f42cb3p-5, -0x1.3b4568fbe29dep-6};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number to twice the precision of the type: high + low.
struct Constant {
  double high, low;
};
Constant half_pi(Expr x) {
  return x.element() == ir::Element::f32 ? Constant{0x1.921fb6p+0, -0x1.777a5cp-25} : Constant{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
}
/// The last two bits of the high part are 0, so four times it and three times it are exact.
Constant quarter_pi(Expr x) {
  return x.element() == ir::Element::f32 ? Constant{0x1.921fb8p-1, -0x1.5dde98p-24} : Constant{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};
}

/// For |x|: asin(x) up to 1/2, and above it asin(sqrt((1 - x) / 2)), from which asin and acos follow; NaN beyond 1.
struct HalfArc {
  Expr is_near, arc;
};
HalfArc half_arc(Expr magnitude) {
  const Expr is_near = magnitude <= 0.5;
  const Expr rest = 0.5 - magnitude * 0.5;  // exact
  const Expr z = select(is_near, magnitude * magnitude, rest);
  const Expr s = select(is_near, magnitude, sqrt(rest));
  return {is_near, mad(s * z, magnitude.element() == ir::Element::f32 ? polynomial(z, kAsin32) : polynomial(z, kAsin64), s)};
}

}  // namespace

Expr asin(Expr x) {
  const auto [is_near, arc] = half_arc(abs(x));
  const Constant half = half_pi(x);
  return copysign(select(is_near, arc, half.high - (2.0 * arc - half.low)), x);
}

Expr acos(Expr x) {
  // pi/2 - asin(x); 2 asin(sqrt((1 - x) / 2)); pi - 2 asin(sqrt((1 + x) / 2)).
  const auto [is_near, arc] = half_arc(abs(x));
  const Constant half = half_pi(x);
  const Expr is_negative = x < 0.0;
  const Expr near = half.high - (copysign(arc, x) - half.low);
  const Expr twice = 2.0 * arc;
  const Expr far = select(is_negative, 2 * half.high - (twice - 2 * half.low), twice);
  return select(is_near, near, far);
}

Expr atan2(Expr y, Expr x) {
  // The angle of (|x|, |y|) within its octant is atan(a / b), where a is the lesser of both: at most pi/4. From tan(pi/8) on it is pi/4 +
  // atan((a - b) / (a + b)). The octants continue by quarters of pi, forwards or backwards.
  const bool single = x.element() == ir::Element::f32;
  const Expr ax = abs(x), ay = abs(y);
  const Expr is_steep = ay > ax;
  Expr a = select(is_steep, ax, ay), b = select(is_steep, ay, ax);
  // Two infinities count as equal, one makes the quotient 0; NaN stays NaN. After scaling, a + b is in range and not subnormal.
  const Expr is_infinite = b == kInfinity;
  a = select(is_infinite, select(a == kInfinity, 1.0, a * 0.0), a);
  b = select(is_infinite, 1.0, b);
  const Expr is_large = b > (single ? 0x1p+126 : 0x1p+1022), is_small = b < (single ? 0x1p-60 : 0x1p-900);
  const Expr scale = select(is_large, 0.25, select(is_small, like(b, 0x1p+60), like(b, 1.0)));
  a = a * scale, b = b * scale;
  const Expr is_middle = a > b * (std::numbers::sqrt2 - 1);
  const Expr numerator = select(is_middle, a - b, a), denominator = select(is_middle, a + b, b);
  const Expr t = numerator / select(denominator == 0.0, 1.0, denominator), z = t * t;
  const Expr arc = mad(t * z, single ? polynomial(z, kAtan32) : polynomial(z, kAtan64), t);

  const Expr is_left = signed_bits(x) < 0;
  const Expr in_octant = select(is_middle, like(b, 1.0), like(b, 0.0));
  const Expr from_axis = select(is_steep, 2.0 - in_octant, in_octant);
  const Expr quarters = select(is_left, 4.0 - from_axis, from_axis);
  const Expr signed_arc = select(is_steep ^ is_left, -arc, arc);
  const Constant quarter = quarter_pi(x);
  return copysign(mad(quarters, quarter.high, mad(quarters, quarter.low, signed_arc)), y);
}

Expr atan(Expr x) { return atan2(x, like(x, 1.0)); }

}  // namespace tilewright::passes::math
