// Arithmetic on f16, bf16 and pairs of them. Each result is the exact one, rounded once.
#include <cmath>
#include <type_traits>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/simd/small_float.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct HalfOptions {
  bool ftz = false, saturates = false, relu = false, propagates_nan = false, xor_sign = false;
};
enum class Op : u8 { add, sub, mul, fma, min, max, neg, abs };
constexpr std::string_view kNames[] = {"add", "sub", "mul", "fma", "min", "max", "neg", "abs"};

struct F16 {
  static constexpr FloatFormat kFormat = kF16;
  static float widen(u16 bits) { return f16_to_f32(bits); }
  static u16 narrow(float value) { return f32_to_f16(value); }
  static constexpr u16 kExponent = 0x7c00, kOne = 0x3c00;
};
struct Bf16 {
  static constexpr FloatFormat kFormat = kBf16;
  static float widen(u16 bits) { return bf16_to_f32(bits); }
  static u16 narrow(float value) { return f32_to_bf16(value); }
  static constexpr u16 kExponent = 0x7f80, kOne = 0x3f80;
};

template <class H>
bool is_nan(u16 x) {
  return (x & 0x7fff) > H::kExponent;
}
template <class H>
u16 flush_half(u16 x) {
  return (x & H::kExponent) == 0 ? x & 0x8000 : x;
}

template <class H>
u16 from_double(double x) {
  return static_cast<u16>(round_to(x, H::kFormat, Rounding::nearest_even));
}

// Sums and products of 11-bit numbers are exact in f32 if the exponents are close, and in double after rounding to odd.
template <class H>
u16 fused(u16 a, u16 b, u16 c) {
  const double product = static_cast<double>(H::widen(a)) * H::widen(b);
  return from_double<H>(sum_to_odd(product, H::widen(c)));
}

template <class H>
u16 sum(u16 a, u16 b, bool subtracts) {
  const float x = H::widen(a), y = subtracts ? -H::widen(b) : H::widen(b);
  // The sum of two f16 needs at most 40 bits: it is exact in double, and even rounding to the 24 bits of f32 does not affect the final
  // rounding to 11 bits (24 >= 2 * 11 + 2). The same holds for bf16 and its 8 bits.
  return H::narrow(x + y);
}

template <class H>
u16 product(u16 a, u16 b) {
  // The 22 bits of a product of two f16 are exact in f32; a product of bf16 may be subnormal there.
  if constexpr (std::is_same_v<H, F16>) return H::narrow(H::widen(a) * H::widen(b));
  return from_double<H>(static_cast<double>(H::widen(a)) * H::widen(b));
}

template <class H>
u16 extreme(u16 a, u16 b, bool is_min, const HalfOptions& options) {
  const u16 sign = options.xor_sign ? (a ^ b) & 0x8000 : 0;
  if (options.xor_sign) a &= 0x7fff, b &= 0x7fff;
  if (is_nan<H>(a) || is_nan<H>(b)) {
    const u16 other = is_nan<H>(a) ? b : a;
    return options.propagates_nan || is_nan<H>(other) ? u16{0x7fff} : static_cast<u16>(other | sign);
  }
  const float x = H::widen(a), y = H::widen(b);
  const bool takes_a = x == y ? is_min == ((a & 0x8000) != 0) : (x < y) == is_min;
  return static_cast<u16>((takes_a ? a : b) | sign);
}

template <class H, Op op>
u16 compute(u16 a, u16 b, u16 c, const HalfOptions& options) {
  if (options.ftz) a = flush_half<H>(a), b = flush_half<H>(b), c = flush_half<H>(c);
  u16 result = 0;
  switch (op) {
    case Op::add: result = sum<H>(a, b, false); break;
    case Op::sub: result = sum<H>(a, b, true); break;
    case Op::mul: result = product<H>(a, b); break;
    case Op::fma: result = fused<H>(a, b, c); break;
    case Op::min: return extreme<H>(a, b, true, options);
    case Op::max: return extreme<H>(a, b, false, options);
    case Op::neg: return a ^ 0x8000;
    case Op::abs: return a & 0x7fff;
  }
  if (options.ftz) result = flush_half<H>(result);
  if (is_nan<H>(result)) return options.saturates ? u16{0} : u16{0x7fff};
  if ((options.relu || options.saturates) && (result & 0x8000)) result = 0;
  if (options.saturates && result > H::kOne) result = H::kOne;
  return result;
}

template <class H, Op op, int Parts>
void half(Warp& warp, const Instruction& i, Mask mask) {
  using Word = std::conditional_t<Parts == 1, u16, u32>;
  const Lanes<Word> a = read<Word>(warp, i.slot[1]), b = i.slot[2] < 0 ? a : read<Word>(warp, i.slot[2]),
                    c = i.slot[3] < 0 ? a : read<Word>(warp, i.slot[3]);
  const HalfOptions options = i.options<HalfOptions>();
  Lanes<Word> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    Word word = 0;
    for (int part = 0; part < Parts; ++part) {
      const int shift = 16 * part;
      const u16 value = compute<H, op>(static_cast<u16>(a[lane] >> shift), static_cast<u16>(b[lane] >> shift),
                                       static_cast<u16>(c[lane] >> shift), options);
      word |= static_cast<Word>(static_cast<u32>(value) << shift);
    }
    result[lane] = word;
  }
  write(warp, i.slot[0], result, mask);
}

/// The handlers, indexed by operation.
template <class H, int Parts>
constexpr Handler kHandlers[] = {half<H, Op::add, Parts>, half<H, Op::sub, Parts>, half<H, Op::mul, Parts>, half<H, Op::fma, Parts>,
                                 half<H, Op::min, Parts>, half<H, Op::max, Parts>, half<H, Op::neg, Parts>, half<H, Op::abs, Parts>};

}  // namespace

void decode_half(Decoder& d) {
  d.out.category = Category::half;
  const auto k = static_cast<std::size_t>(std::find(std::begin(kNames), std::end(kNames), d.base()) - std::begin(kNames));
  if (k == std::size(kNames)) d.fail("no instruction of this type");
  const Op op = static_cast<Op>(k);
  const Type type = d.take_type();
  const bool is_bf16 = type == Type::bf16 || type == Type::bf16x2;
  const bool is_pair = type == Type::f16x2 || type == Type::bf16x2;
  const bool computes = op <= Op::fma;
  if (computes && !d.take("rn") && op == Op::fma) d.fail("a rounding is missing");
  HalfOptions& options = d.options<HalfOptions>();
  options.ftz = d.take("ftz");
  if (options.ftz && is_bf16) d.fail("'.ftz' is for f16");
  options.saturates = computes && d.take("sat");
  options.relu = op == Op::fma && d.take("relu");
  if (op == Op::min || op == Op::max) {
    options.propagates_nan = d.take("NaN");
    options.xor_sign = d.take("xorsign");
    if (options.xor_sign && !d.take("abs")) d.fail("'.xorsign' needs '.abs'");
  }
  if (is_bf16)
    d.out.execute = is_pair ? kHandlers<Bf16, 2>[k] : kHandlers<Bf16, 1>[k];
  else
    d.out.execute = is_pair ? kHandlers<F16, 2>[k] : kHandlers<F16, 1>[k];
  d.take_operands(bytes_of(type), std::vector<int>(op >= Op::neg ? 1 : op == Op::fma ? 3 : 2, bytes_of(type)), type);
}

}  // namespace tilewright::rt::emulator
