// Converts small floats by operations on their fields.
#include "passes/ir_names.h"
#include "passes/math/small_floats.h"
#include "tileir/diagnostics.h"

namespace tilewright::passes::math {

namespace {

constexpr std::uint32_t kInfinity32 = 0x7f800000, kMagnitude32 = 0x7fffffff, kQuiet32 = 0x00400000;

/// The fields of a format as numbers. For f16 the width is 15, top is 0x7c00 and the bias is 15.
struct Fields {
  explicit Fields(detail::FloatFormat f)
      : mantissa(f.mantissa),
        width(f.exponent + f.mantissa),
        bias((1 << (f.exponent - 1)) - 1),
        ieee(f.ieee),
        magnitude((std::uint64_t{1} << width) - 1),
        top(((std::uint64_t{1} << f.exponent) - 1) << f.mantissa),
        nan(ieee ? top | std::uint64_t{1} << (f.mantissa - 1) : magnitude) {}
  int mantissa, width, bias;  // width: bits below the sign
  bool ieee;
  std::uint64_t magnitude, top, nan;  // mask below the sign; exponent of all ones; the quiet NaN
};

double power_of_two(int n) { return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + n) << 52); }
std::uint64_t float_bits(double v) { return std::bit_cast<std::uint32_t>(static_cast<float>(v)); }

/// The bits of a small float in a u32, and back.
Expr code_of(Expr x) { return cast(unsigned_bits(x), Element::u32); }
Expr from_code(Expr code, Element e) { return bitcast(cast(code, ir::integer(ir::bits(e), false)), e); }

/// x with bit k set if any lower bit was set, and the lower bits cleared: this is rounding to odd, after which a later rounding gives the
/// same result as rounding x itself.
Expr sticky(Expr x, int k) {
  const std::uint64_t below = (std::uint64_t{1} << k) - 1;
  return (((x & below) + below) | x) & ~below;
}

/// i64 or u64 -> an f64 that rounds to every small float in the same way as x.
Expr shorten_integer(Expr x) {
  // Below 2^53 f64 holds x exactly; above, the low 11 bits can be dropped.
  constexpr std::uint64_t kExact = std::uint64_t{1} << 53;
  const Expr y = bitcast(x, Element::u64);
  const Expr fits = ir::is_signed(x.element()) ? (y + kExact) < 2 * kExact : y < kExact;
  return cast(bitcast(select(fits, y, sticky(y, 11)), x.element()), Element::f64);
}

}  // namespace

detail::FloatFormat layout_of(Element e) {
  switch (e) {
    case Element::f16: return detail::kF16;
    case Element::bf16: return detail::kBF16;
    case Element::f8e4m3: return detail::kF8E4M3;
    case Element::f8e5m2: return detail::kF8E5M2;
    default: TW_UNREACHABLE("not a small float");
  }
}

Expr widen(Expr x, SmallFloatCasts casts) {
  const Element from = x.element();
  if ((from == Element::f16 && casts.f16) || (ir::is_fp8(from) && casts.fp8)) return cast(x, Element::f32);
  if (from == Element::bf16) return bitcast(code_of(x) << 16, Element::f32);
  if (from == Element::f8e5m2 && casts.f16)  // the upper half of an f16
    return cast(bitcast(cast(unsigned_bits(x), Element::u16) << 8, Element::f16), Element::f32);

  // The fields shifted to their positions in an f32 are the value times a power of two, also for subnormals.
  const Fields f(layout_of(from));
  const Expr code = code_of(x), magnitude = code & f.magnitude;
  const Expr bits = unsigned_bits(bitcast(magnitude << (23 - f.mantissa), Element::f32) * power_of_two(127 - f.bias));
  const Expr value =
      f.ieee ? select(magnitude >= f.top, bits | kInfinity32, bits) : select(magnitude == f.nan, kInfinity32 | kQuiet32, bits);
  const Expr sign = (code & (f.magnitude + 1)) << (31 - f.width);
  return bitcast(value | sign, Element::f32);
}

Expr narrow(Expr x, Element to, SmallFloatCasts casts) {
  if ((to == Element::f16 && casts.f16) || (to == Element::bf16 && casts.bf16) || (ir::is_fp8(to) && casts.fp8)) return cast(x, to);
  const Expr bits = unsigned_bits(x);
  if (to == Element::bf16) {
    // A carry out of the mantissa correctly increments the exponent, and turns the greatest number into infinity.
    const Expr rounded = bits + (((bits >> 16) & 1) + 0x7fff);
    return from_code(select(x != x, bits | kQuiet32, rounded) >> 16, to);
  }

  const Fields f(layout_of(to));
  const int shift = 23 - f.mantissa;
  const Expr magnitude = bits & kMagnitude32;
  // Numbers: add half an ulp minus one, and one more if the last kept bit is odd; subtract the difference of the biases.
  const std::uint64_t offset = (std::uint64_t{1} << (shift - 1)) - 1 - (static_cast<std::uint64_t>(127 - f.bias) << 23);
  const Expr number = (magnitude + (((magnitude >> shift) & 1) + offset)) >> shift;
  // Subnormals: adding an f32 whose ulp is the least subnormal rounds the value.
  const double anchor = power_of_two(1 - f.bias - f.mantissa + 23);
  const Expr subnormal = unsigned_bits(bitcast(magnitude, Element::f32) + anchor) - float_bits(anchor);
  const Expr code = select(magnitude < float_bits(power_of_two(1 - f.bias)), subnormal, number);
  Expr bounded = at_most(code, f.ieee ? f.top : f.nan);
  if (f.ieee) bounded = select(magnitude > kInfinity32, f.nan, bounded);
  const Expr sign = (bits >> (31 - f.width)) & (f.magnitude + 1);
  return from_code(bounded | sign, to);
}

Expr narrow_exact(Expr x, Element to, SmallFloatCasts casts) {
  if (to == Element::bf16) return from_code(unsigned_bits(x) >> 16, to);
  return narrow(x, to, casts);
}

Expr shorten(Expr x) {
  // 14 significant bits: three more than f16 has, and so few that subnormals of f32 hold every bit that matters to bf16.
  return cast(bitcast(sticky(unsigned_bits(x), 39), Element::f64), Element::f32);
}

Expr convert(Expr x, Element to, SmallFloatCasts casts) {
  const Element from = x.element();
  if (!is_small_float(to)) {
    if (to == Element::boolean) return (unsigned_bits(x) & Fields(layout_of(from)).magnitude) != 0;
    return cast(widen(x, casts), to);
  }
  if (from == Element::boolean) {
    const ir::Type t = x.type().with_element(to);
    return select(x, x.emitter->constant(t, 1.0), x.emitter->constant(t, 0.0));
  }
  Expr single;
  if (is_small_float(from))
    single = widen(x, casts);
  else if (from == Element::f32 || (ir::is_integer(from) && ir::bits(from) <= 16))
    single = cast(x, Element::f32);
  else
    single = shorten(ir::is_integer(from) && ir::bits(from) == 64 ? shorten_integer(x) : cast(x, Element::f64));
  return narrow(single, to, casts);
}

Expr fma_small(Expr a, Expr b, Expr c, SmallFloatCasts casts) {
  const auto wide = [&](Expr x) { return cast(widen(x, casts), Element::f64); };
  // The product is exact in f64. The sum is rounded to odd: if it is inexact (Knuth's two-sum) and even, it moves to its neighbour in the
  // direction of the error.
  const Expr p = wide(a) * wide(b), z = wide(c), sum = p + z;
  const Expr part = sum - p, error = (p - (sum - part)) + (z - part);
  const Expr bits = signed_bits(sum);
  const Expr step = select((signed_bits(error) ^ bits) < 0, like(bits, -1), 1);
  const Expr even = (bits & 1) == 0;
  // An infinite or NaN sum has a NaN error, which compares false with 0.
  const Expr inexact = abs(error) > 0.0;
  const Expr odd = bitcast(select(inexact & even, bits + step, bits), Element::f64);
  return narrow(shorten(odd), a.element(), casts);
}

}  // namespace tilewright::passes::math
