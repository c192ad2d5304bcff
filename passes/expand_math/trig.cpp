// sin, cos and tan of any finite argument. The argument is reduced in integers, exactly (Payne and Hanek): its significand times the
// relevant bits of 2/pi. One reduction serves every |x| > pi/4. A cheaper one for moderate arguments would save nothing, since every lane
// would compute both.
#include <vector>

#include "passes/math/functions.h"

namespace tilewright::passes::math {

namespace {

// (sin(r) / r - 1) / r^2 in r^2 for |r| <= pi/4: 2^-27.9 and 2^-57.9.
constexpr double kSin32[] = {-0x1.555546p-3, 0x1.110776p-7, -0x1.9952fap-13};
constexpr double kSin64[] = {-0x1.5555555555548p-3, 0x1.111111110f731p-7,   -0x1.a01a019be95b7p-13,
                             0x1.71de35557404bp-19, -0x1.ae5e4bcff5ab2p-26, 0x1.5d8b71ee69f85p-33};
// (cos(r) - 1 + r^2 / 2) / r^4: 2^-33.0 and 2^-63.9.
constexpr double kCos32[] = {0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e80cp-16};
constexpr double kCos64[] = {0x1.555555555554bp-5,   -0x1.6c16c16c1500dp-10, 0x1.a01a019c8dd1dp-16,
                             -0x1.27e4f7f05010bp-22, 0x1.1ee9dacb77358p-29,  -0x1.8fa5ec75cba28p-37};
// (tan(r) / r - 1) / r^2: 2^-25.7.
constexpr double kTan32[] = {0x1.5554dep-2, 0x1.112deap-3, 0x1.b5852p-5, 0x1.90728p-6, 0x1.9686f8p-9, 0x1.33e748p-7};

// 2/pi * 2^102 in the first 128 bits, and the bits after them.
constexpr std::uint64_t kTwoOverPi32[] = {0x00000028be60db93, 0x91054a7f09d5f47d, 0x4d377036d8a5664f, 0x10e4107f9458eaf7,
                                          0xaef1586dc91b8e90};
// 2/pi * 2^137 in the first 192 bits, and the bits after them.
constexpr std::uint64_t kTwoOverPi64[] = {0x0000000000000145, 0xf306dc9c882a53f8, 0x4eafa3ea69bb81b6, 0xc52b3278872083fc,
                                          0xa2c757bd778ac36e, 0x48dc74849ba5c00c, 0x925dd413a32439fc, 0x3bd63962534e7dd1,
                                          0x046bea5d768909d3, 0x38e04d68befc8273, 0x23ac7306a673e939, 0x08bf177bf250763f,
                                          0xf12fffbc0b301fde, 0x5e2316b414da3eda, 0x6cfd9e4f96136e9e, 0x8c7ecd3cbfd45aea,
                                          0x4f758fd7cbe2f67a, 0x0e73ef14a525d4d7, 0xf6bf623f1aba10ac, 0x06608df8f6d757e1};

constexpr double kPiOver2 = 0x1.921fb54442d18p+0, kPiOver2Low = 0x1.1a62633145c07p-54;
constexpr double kPiOver4 = 0x1.921fb54442d18p-1;

/// |x| = quadrant pi/2 + r, |r| <= pi/4; only the two low bits of quadrant matter. The exact value of r is r + tail, |tail| <= ulp(r) / 2.
struct Reduced {
  Expr r, tail, quadrant;
};

/// words[index] ... words[index + count - 1] for a run-time index up to `most`: shifts by whole words, one for each bit of the index.
std::vector<Expr> window(Expr index, std::span<const std::uint64_t> words, int most, int count) {
  std::vector<Expr> w;
  for (std::uint64_t word : words) w.push_back(like(index, word));
  int step = 1;
  while (2 * step <= most) step *= 2;
  for (; step > 0; most = step - 1, step /= 2) {
    const Expr far = (index & step) != 0;
    std::vector<Expr> shifted;
    for (int i = 0; i < step + count - 1; ++i)
      shifted.push_back(i + step < static_cast<int>(w.size()) && i + step < most + count ? select(far, w[i + step], w[i]) : w[i]);
    w = std::move(shifted);
  }
  return w;
}

/// The upper half of (high : low) << shift, for shift < 64.
Expr funnel(Expr high, Expr low, Expr shift) {
  // The right shift has two steps, since a shift by 64 - shift could be one by the full width.
  return (high << shift) | ((low >> 1) >> (shift ^ 63));
}

/// x / (pi/2) mod 4 in units of 2^-62, from |x| = m 2^e.
Reduced reduce32(Expr magnitude) {
  const Expr bits = unsigned_bits(magnitude);
  const Expr m = cast((bits & 0x7fffff) | 0x800000, ir::Element::u64);
  const Expr offset = cast((bits >> 23) - 126, ir::Element::u64);  // index into the bits of 2/pi; the least argument is 2^-1
  const Expr shift = offset & 63;
  const std::vector<Expr> w = window(offset >> 6, kTwoOverPi32, 2, 3);
  const Expr high = m * funnel(w[0], w[1], shift), low = (m * (funnel(w[1], w[2], shift) >> 32)) >> 32;
  const Expr turns = high + low;
  const Expr fraction = cast(bitcast(turns << 2, ir::Element::i64), ir::Element::f64) * (kPiOver2 * 0x1p-64);
  // Adding 0 x gives NaN for infinity. A small argument is exactly its own remainder.
  const Expr large = magnitude > kPiOver4;
  const Expr r = select(large, mad(magnitude, 0.0, cast(fraction, ir::Element::f32)), magnitude);
  const Expr quadrant = select(large, cast((turns + (std::uint64_t{1} << 61)) >> 62, ir::Element::u32), 0);
  return {r, {}, quadrant};
}

Reduced reduce64(Expr magnitude) {
  const Expr bits = unsigned_bits(magnitude);
  const Expr m = (bits & 0xfffffffffffffu) | (std::uint64_t{1} << 52);
  const Expr offset = (bits >> 52) - 1022;
  const Expr shift = offset & 63;
  const std::vector<Expr> w = window(offset >> 6, kTwoOverPi64, 16, 4);
  const Expr a = funnel(w[0], w[1], shift), b = funnel(w[1], w[2], shift), c = funnel(w[2], w[3], shift);
  // (high : low): x / (pi/2) mod 4 in units of 2^-126.
  const Expr carried = umulhi(m, c), low = m * b + carried;
  const Expr high = m * a + umulhi(m, b) + cast(low < carried, ir::Element::u64);
  // The fraction, signed, as two doubles: the upper one takes 53 bits of it, rounded to nearest so that the lower one stays small if the
  // upper one is 0.
  const Expr upper = bitcast((high << 2) | (low >> 62), ir::Element::i64);
  const Expr rounded = (upper + 0x400) & ~std::int64_t{0x7ff};
  const Expr lower = ((upper - rounded) << 53) + bitcast((low << 2) >> 11, ir::Element::i64);
  const Expr f = cast(rounded, ir::Element::f64) * 0x1p-64, g = cast(lower, ir::Element::f64) * 0x1p-117;
  const Expr p = f * kPiOver2;
  const Expr p_low = fma(f, like(f, kPiOver2), -p) + mad(f, kPiOver2Low, g * kPiOver2);
  const Expr sum = p + p_low;

  const Expr large = magnitude > kPiOver4;
  const Expr r = select(large, mad(magnitude, 0.0, sum), magnitude);
  const Expr tail = select(large, (p - sum) + p_low, 0.0);
  const Expr quadrant = select(large, (high + (std::uint64_t{1} << 61)) >> 62, 0);
  return {r, tail, quadrant};
}

struct SinCos {
  Expr sin, cos;
};
SinCos sin_cos(const Reduced& x) {
  const Expr r = x.r, z = r * r;
  if (r.element() == ir::Element::f32) {
    const Expr sine = mad(r * z, polynomial(z, kSin32), r);
    return {sine, mad(z * z, polynomial(z, kCos32), mad(z, -0.5, 1.0))};
  }
  const Expr sine = r + mad(r * z, polynomial(z, kSin64), x.tail);
  const Expr half = z * 0.5, w = 1.0 - half;
  const Expr cosine = w + (((1.0 - w) - half) + (z * z * polynomial(z, kCos64) - r * x.tail));
  return {sine, cosine};
}

/// y, negated if bit `bit` of `word` is set.
Expr negate_by_bit(Expr y, Expr word, int bit) {
  const int top = ir::bits(y.element()) - 1;
  const Expr sign = bit == top ? word & (std::uint64_t{1} << top) : (word & (std::uint64_t{1} << bit)) << (top - bit);
  return bitcast(unsigned_bits(y) ^ sign, y.element());
}

Reduced reduce(Expr x) { return x.element() == ir::Element::f32 ? reduce32(abs(x)) : reduce64(abs(x)); }

}  // namespace

Expr sin(Expr x) {
  const Reduced reduced = reduce(x);
  const auto [sine, cosine] = sin_cos(reduced);
  const Expr y = select((reduced.quadrant & 1) != 0, cosine, sine);
  return negate_by_bit(negate_by_bit(y, reduced.quadrant, 1), unsigned_bits(x), ir::bits(x.element()) - 1);
}

Expr cos(Expr x) {
  const Reduced reduced = reduce(x);
  const auto [sine, cosine] = sin_cos(reduced);
  const Expr next = reduced.quadrant + 1;  // cos x = sin(x + pi/2)
  return negate_by_bit(select((next & 1) != 0, cosine, sine), next, 1);
}

Expr tan(Expr x) {
  const Reduced reduced = reduce(x);
  const Expr odd = (reduced.quadrant & 1) != 0;
  Expr y;
  if (x.element() == ir::Element::f32) {
    const Expr r = reduced.r, z = r * r;
    const Expr t = mad(r * z, polynomial(z, kTan32), r);
    y = select(odd, -1.0 / t, t);
  } else {
    const auto [sine, cosine] = sin_cos(reduced);
    y = select(odd, -cosine, sine) / select(odd, sine, cosine);
  }
  return negate_by_bit(y, unsigned_bits(x), ir::bits(x.element()) - 1);
}

}  // namespace tilewright::passes::math
