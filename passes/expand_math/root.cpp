// cbrt and hypot: the argument is scaled where its powers would leave the range.
#include <limits>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

Expr cbrt(Expr x) {
  // r = a^(-1/3), by Householder's method of third order; the initial guess comes from the exponent and is within 4 %. cbrt(a) = a r^2, and
  // then one step of Newton's method on y^3 = a.
  const Format& f = format_of(x);
  const bool single = f.bias == 127;
  const Expr magnitude = abs(x);
  const Expr is_small = magnitude < (single ? 0x1p-100 : 0x1p-1000);
  // The scale is a cube, makes subnormal numbers normal, and keeps a product of roots in range.
  const Expr a = magnitude * select(is_small, like(x, single ? 0x1p+24 : 0x1p+54), like(x, 0x1p-3));
  const Expr thirds = unsigned_bits(a) / 3;
  Expr r = bitcast(single ? std::int64_t{0x54a2fa8c} - thirds : std::int64_t{0x553ef0ff289dd796} - thirds, f.real);
  for (int step = 0; step < (single ? 2 : 3); ++step) {
    const Expr h = 1.0 - a * r * r * r;
    r = mad(r * h, mad(h, 2.0 / 9, 1.0 / 3), r);
  }
  const Expr y = a * r * r;
  const Expr root = mad(mad(-(y * y), y, a), r * r * (1.0 / 3), y);
  const Expr unscaled = root * select(is_small, like(x, single ? 0x1p-8 : 0x1p-18), like(x, 2.0));
  // The powers of infinity would give NaN.
  return copysign(select(magnitude < kInfinity, unscaled, magnitude), x);
}

Expr hypot(Expr x, Expr y) {
  const bool single = x.element() == ir::Element::f32;
  const Expr ax = abs(x), ay = abs(y);
  const Expr is_x = ax > ay;
  const Expr a = select(is_x, ax, ay), b = select(is_x, ay, ax);
  // The square of the greater one is in range, and so is the square of the lesser one where it matters.
  const Expr is_large = a > (single ? 0x1p+60 : 0x1p+500), is_small = a < (single ? 0x1p-40 : 0x1p-400);
  const double by = single ? 0x1p+100 : 0x1p+700;
  const Expr up = select(is_large, like(a, 1 / by), select(is_small, like(a, by), like(a, 1.0)));
  const Expr down = select(is_large, like(a, by), select(is_small, like(a, 1 / by), like(a, 1.0)));
  const Expr c = a * up, d = b * up;
  const Expr root = sqrt(mad(c, c, d * d)) * down;
  return select((ax == kInfinity) | (ay == kInfinity), kInfinity, root);
}

}  // namespace tilewright::passes::math
