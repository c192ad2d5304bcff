// exp, exp2, exp10, expm1, sinh, cosh and tanh: x = n ln2 + r, a polynomial in r, and 2^n built from its bits.
#include <span>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2, error relative to e^r.
constexpr double kExp32[] = {0x1.fffffcp-2, 0x1.55548cp-3, 0x1.555858p-5, 0x1.123df4p-7, 0x1.6ac87ap-10};  // 2^-28.2
constexpr double kExp64[] = {0x1.000000000000ap-1,  0x1.5555555555502p-3,  0x1.5555555550602p-5,  0x1.11111111251d3p-7,
                             0x1.6c16c184b63bep-10, 0x1.a01a013b83936p-13, 0x1.a019988c48c64p-16, 0x1.71def8c9d4863p-19,
                             0x1.28aed8522d204p-22, 0x1.adcf0b5e63966p-26};  // 2^-57.9
// This polynomial too, with the error relative to e^r - 1.
constexpr double kExpm1_32[] = {0x1.fffffep-2, 0x1.5554aap-3, 0x1.55579cp-5, 0x1.122c98p-7, 0x1.6ab43ap-10};  // 2^-26.1
constexpr double kExpm1_64[] = {0x1p-1,
                                0x1.5555555555559p-3,
                                0x1.5555555555558p-5,
                                0x1.111111110f706p-7,
                                0x1.6c16c16c171d2p-10,
                                0x1.a01a01afa65b5p-13,
                                0x1.a01a019b7b7e4p-16,
                                0x1.71ddf90b7d553p-19,
                                0x1.27e4fd660d0aap-22,
                                0x1.af5d731739a0dp-26,
                                0x1.1f345eac2ab06p-29};  // 2^-61.6
// (2^r - 1) / r for |r| <= 1/2, error relative to 2^r.
constexpr double kExp2_32[] = {0x1.62e43p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5, 0x1.3b681ap-7, 0x1.5ef4d2p-10, 0x1.179402p-13};  // 2^-26.3
constexpr double kExp2_64[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c5b3p-3,  0x1.c6b08d704a26fp-5,  0x1.3b2ab6fb9daddp-7,
                               0x1.5d87fe784535dp-10, 0x1.4309131675bb7p-13, 0x1.ffcbfe68c75b4p-17, 0x1.62bfb4b5eb7dfp-20,
                               0x1.b5207c80ae885p-24, 0x1.e63b6826fd05p-28,  0x1.f0f2d57c7b2fep-32};  // 2^-57.1
// (10^r - 1) / r for |r| <= log10(2) / 2, error relative to 10^r.
constexpr double kExp10_32[] = {0x1.26bb1cp+1, 0x1.53524cp+1, 0x1.046fa4p+1, 0x1.2bd776p+0, 0x1.15651ap-1, 0x1.a8eaf2p-3};  // 2^-27.5
constexpr double kExp10_64[] = {0x1.26bb1bbb55516p+1, 0x1.53524c73cea7p+1,   0x1.0470591de2b02p+1, 0x1.2bd7609fd667ap+0,
                                0x1.1429ffd23677ep-1, 0x1.a7ed709c3d852p-3,  0x1.16e4de9bc7e9cp-4, 0x1.4116670c17ba7p-6,
                                0x1.489ac3449c7e2p-8, 0x1.2f6b449dd8f05p-10, 0x1.f5a2728b896f4p-13};  // 2^-57.0
// (sinh(r) / r - 1) / r^2 in r^2 for |r| <= ln2 / 2, error relative to sinh(r).
constexpr double kSinh32[] = {0x1.555556p-3, 0x1.110f94p-7, 0x1.a33da2p-13};  // 2^-33.2
constexpr double kSinh64[] = {0x1.5555555555555p-3,  0x1.1111111111467p-7,  0x1.a01a019dc3b96p-13,
                              0x1.71de4507ecc08p-19, 0x1.ae3973977cb3ep-26, 0x1.9fe986e71b7cbp-33};  // 2^-63.0
// (cosh(r) - 1) / r^2 in r^2 for |r| <= ln2 / 2, error relative to 1.
constexpr double kCosh32[] = {0x1p-1, 0x1.5554fap-5, 0x1.6d3a9ap-10};  // 2^-32.0
constexpr double kCosh64[] = {
    0x1p-1, 0x1.5555555555557p-5, 0x1.6c16c16c1571p-10, 0x1.a01a01ab6269dp-16, 0x1.27e4d033605a6p-22, 0x1.1f862c46ab44cp-29};  // 2^-68.5

constexpr double kLog2E = 0x1.71547652b82fep+0, kLog2Of10 = 0x1.a934f0979a371p+1;

/// Constants of exp and exp2 for one format: beyond the limits the result is 0 or infinite.
struct Exponential {
  std::span<const double> exp, expm1, exp2;
  double ln2_high, ln2_low;  // the high part has trailing zeros, so that n * ln2_high is exact without fma too
  double exp_least, exp_most, exp2_least, exp2_most, tanh_most;
};
constexpr Exponential kExponential32{kExp32, kExpm1_32, kExp2_32, 0.693359375, -0x1.bd0106p-13, -104, 89, -151, 129, 10};
constexpr Exponential kExponential64{kExp64, kExpm1_64, kExp2_64, 0x1.62e42feep-1, 0x1.a39ef35793c76p-33, -746, 710, -1076, 1025, 22};
const Exponential& exponential_of(Expr x) { return x.element() == ir::Element::f32 ? kExponential32 : kExponential64; }

/// r = x - n ln2, where t = x log2(e) + magic holds n + `offset` in its low bits.
struct Reduced {
  Expr r, t;
};
Reduced reduce(Expr x, double offset) {
  const Exponential& e = exponential_of(x);
  const double magic = format_of(x).magic() + offset;
  const Expr t = mad(x, kLog2E, magic);
  const Expr n = t - magic;
  return {mad(n, -e.ln2_low, mad(n, -e.ln2_high, x)), t};
}

}  // namespace

Expr scale_normal(Expr p, Expr t) {
  const Format& f = format_of(p);
  return p * bitcast(signed_bits(t) << f.mantissa, f.real);
}

Expr scale_any(Expr p, Expr t) {
  // 2^n as two factors, each in range; the shift drops the bits of t above the exponent's width.
  const Format& f = format_of(p);
  const Expr twice = unsigned_bits(t), half = twice >> 1;
  const Expr low = bitcast(half << f.mantissa, f.real), high = bitcast((twice - half) << f.mantissa, f.real);
  return p * low * high;
}

Expr exp_moderate(Expr x) {
  const auto [r, t] = reduce(x, format_of(x).bias);
  return scale_normal(mad(mad(polynomial(r, exponential_of(x).exp), r, 1.0), r, 1.0), t);
}

Expr exp(Expr x) {
  const Exponential& e = exponential_of(x);
  const auto [r, t] = reduce(at_least(at_most(x, e.exp_most), e.exp_least), 2 * format_of(x).bias);
  return scale_any(mad(mad(polynomial(r, e.exp), r, 1.0), r, 1.0), t);
}

Expr exp2(Expr x) {
  const Exponential& e = exponential_of(x);
  const double magic = format_of(x).magic() + 2 * format_of(x).bias;
  const Expr y = at_least(at_most(x, e.exp2_most), e.exp2_least);
  const Expr t = y + magic, r = y - (t - magic);
  return scale_any(mad(polynomial(r, e.exp2), r, 1.0), t);
}

Expr exp10(Expr x) {
  // x = n log10(2) + r; as in exp, the high part of log10(2) is short.
  const bool single = x.element() == ir::Element::f32;
  const double magic = format_of(x).magic() + 2 * format_of(x).bias;
  const Expr y = at_least(at_most(x, single ? 39.0 : 309.0), single ? -46.0 : -325.0);
  const Expr t = mad(y, kLog2Of10, magic), n = t - magic;
  const double high = single ? 0x1.3442p-2 : 0x1.34413509f8p-2, low = single ? -0x1.95ec1p-19 : -0x1.80433b83b532ap-44;
  const Expr r = mad(n, -low, mad(n, -high, y));
  return scale_any(mad(single ? polynomial(r, kExp10_32) : polynomial(r, kExp10_64), r, 1.0), t);
}

Expr expm1(Expr x) {
  // 2^n (e^r - 1) + (2^n - 1), in halves, so that 2^n is in range whenever the result is. Below -40 the result is -1, in f64 too.
  const Exponential& e = exponential_of(x);
  const Format& f = format_of(x);
  const auto [r, t] = reduce(at_least(at_most(x, e.exp_most), -40.0), f.bias - 1);
  const Expr p = mad(r * r, polynomial(r, e.expm1), r);
  const Expr half = bitcast(signed_bits(t) << f.mantissa, f.real);
  // Near 0, n is 0; halves of subnormal numbers would be rounded.
  return copysign(select(abs(x) < 0.34, p, 2.0 * mad(half, p, half - 0.5)), x);
}

namespace {

/// |x| = n ln2 + r: sinh and cosh of both parts; those of n ln2 are halved, so that they are in range whenever the result is.
struct Hyperbolic {
  Expr sinh_n, cosh_n;    // sinh(n ln2) / 2, cosh(n ln2) / 2
  Expr sinh_r, coshm1_r;  // sinh(r), cosh(r) - 1
};
Hyperbolic hyperbolic(Expr magnitude) {
  const Format& f = format_of(magnitude);
  const bool single = f.bias == 127;
  const double offset = f.bias - 2;
  const auto [r, t] = reduce(at_most(magnitude, single ? 89.5 : 710.6), offset);
  const Expr n = t - (f.magic() + offset);
  // 2^-n. From n = 60 on it is below the last bit of 2^n.
  const Expr negative = (f.magic() + offset) - at_most(n, 60.0);
  const Expr up = bitcast(signed_bits(t) << f.mantissa, f.real), down = bitcast(signed_bits(negative) << f.mantissa, f.real);
  const Expr z = r * r;
  const Expr sinh_r = mad(r * z, single ? polynomial(z, kSinh32) : polynomial(z, kSinh64), r);
  return {up - down, up + down, sinh_r, z * (single ? polynomial(z, kCosh32) : polynomial(z, kCosh64))};
}

}  // namespace

Expr sinh(Expr x) {
  // sinh(a + b) = sinh a cosh b + cosh a sinh b.
  const Expr magnitude = abs(x);
  const auto [sinh_n, cosh_n, sinh_r, coshm1_r] = hyperbolic(magnitude);
  const Expr y = 2.0 * (sinh_n + mad(sinh_n, coshm1_r, cosh_n * sinh_r));
  return copysign(select(magnitude < 0.34, sinh_r, y), x);  // halves of subnormal numbers would be rounded
}

Expr cosh(Expr x) {
  const auto [sinh_n, cosh_n, sinh_r, coshm1_r] = hyperbolic(abs(x));
  return 2.0 * (cosh_n + mad(cosh_n, coshm1_r, sinh_n * sinh_r));
}

namespace {

/// f32, where exp2 and the reciprocal are instructions: 1 - 2 / (e^2|x| + 1), accurate to an ulp of 1; near 0 a polynomial.
Expr tanh_by_instructions(Expr x) {
  // (tanh(x) / x - 1) / x^2 in x^2 for |x| <= 0.7, error relative to tanh: 2^-25.9.
  constexpr double kNear[] = {-0x1.5554f4p-2, 0x1.10fabcp-3, -0x1.b6bba4p-5, 0x1.491246p-6, -0x1.5056e8p-8};
  const Expr magnitude = abs(x), z = x * x;
  const Expr near = mad(magnitude * z, polynomial(z, kNear), magnitude);
  const Expr far = 1.0 - fast_quotient(like(x, 2.0), exp2_instruction(magnitude * (2 * kLog2E)) + 1.0);
  return copysign(select(magnitude < 0.7, near, far), x);
}

}  // namespace

Expr tanh(Expr x) {
  if (x.emitter->has_exp2() && x.element() == ir::Element::f32) return tanh_by_instructions(x);
  // tanh x = E / (E + 2) with E = e^2x - 1 = 2^n (e^r - 1) + (2^n - 1), accurate for small and large x alike.
  const Exponential& e = exponential_of(x);
  const Format& f = format_of(x);
  const Expr magnitude = at_most(abs(x), e.tanh_most);
  const auto [r, t] = reduce(magnitude + magnitude, f.bias);
  const Expr p = mad(r * r, polynomial(r, e.expm1), r);
  const Expr s = bitcast(signed_bits(t) << f.mantissa, f.real);
  const Expr y = mad(s, p, s - 1.0);
  return copysign(y / (y + 2.0), x);
}

}  // namespace tilewright::passes::math
