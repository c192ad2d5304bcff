// Reciprocals, roots, exponentials, logarithms and trigonometric functions. The .approx forms give the correctly rounded result, which is
// within the error that PTX states for them; results of hardware may differ in the last bits.
#include <cmath>

#include "runtime/emulator/isa/directed_rounding.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/simd/exponential.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

enum class Formula : u8 { rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh };

double value_of(Formula formula, double x) {
  switch (formula) {
    case Formula::rcp: return 1.0 / x;
    case Formula::sqrt: return std::sqrt(x);
    case Formula::rsqrt: return 1.0 / std::sqrt(x);
    case Formula::sin: return std::sin(x);
    case Formula::cos: return std::cos(x);
    case Formula::lg2: return std::log2(x);
    case Formula::ex2: return std::exp2(x);
    case Formula::tanh: return std::tanh(x);
  }
  return 0;
}

template <Formula formula, bool Ftz>
float approximate(float x) {
  if constexpr (Ftz) x = flush(x);
  float result;
  // These four are rounded once in f32, even without going through double.
  if constexpr (formula == Formula::rcp)
    result = 1.0f / x;
  else if constexpr (formula == Formula::sqrt)
    result = std::sqrt(x);
  else
    result = static_cast<float>(value_of(formula, x));
  if constexpr (Ftz) result = flush(result);
  return canonical(result);
}

template <bool Ftz>
void exponential(Warp& warp, const Instruction& i, Mask mask) {
  const auto a = read_in_place<float>(warp, i.slot[1]);
  Lanes<float> x, result;
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = Ftz ? flush(a[lane]) : a[lane];
  exp2_lanes(result, LanesInPlace<float>(x));
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = canonical(Ftz ? flush(result[lane]) : result[lane]);
  write(warp, i.slot[0], result, mask);
}

/// Computes rsqrt.approx.f64.
double inverse_root(double x) { return value_of(Formula::rsqrt, x); }

/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 read and write only the upper word.
template <Formula formula>
double approximate_upper(double x) {
  const auto upper = [](double value) { return std::bit_cast<double>(std::bit_cast<u64>(value) & 0xffffffff00000000u); };
  const auto flushed = [](double value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0, value) : value; };
  return upper(flushed(value_of(formula, flushed(upper(x)))));
}

struct ExactOptions {
  Rounding rounding = Rounding::nearest_even;
  bool ftz = false;
};
struct HalfOptions {
  bool is_bf16 = false, ftz = false;
};

/// The IEEE-rounded forms.
template <class T, FloatOp op>
void exact(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> a = read<T>(warp, i.slot[1]);
  const auto [rounding, ftz] = i.options<ExactOptions>();
  Lanes<T> result{};
  for (const int lane : lanes_of(mask)) {
    T x = a[lane];
    if constexpr (std::is_same_v<T, float>)
      if (ftz) x = flush(x);
    T y;
    if (rounding == Rounding::nearest_even)
      y = op == FloatOp::div ? T{1} / x : std::sqrt(x);
    else
      y = op == FloatOp::div ? rounded(op, rounding, T{1}, x, T{0}) : rounded(op, rounding, x, x, x);
    if constexpr (std::is_same_v<T, float>) y = canonical(ftz ? flush(y) : y);
    result[lane] = y;
  }
  write(warp, i.slot[0], result, mask);
}

/// ex2 and tanh on f16, bf16 and pairs.
template <Formula formula, class Word>
void halves(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<Word> a = read<Word>(warp, i.slot[1]);
  const auto [is_bf16, ftz] = i.options<HalfOptions>();
  const FloatFormat& format = is_bf16 ? kBf16 : kF16;
  Lanes<Word> result;
  for (int lane = 0; lane < kLanes; ++lane) {
    Word word = 0;
    for (int shift = 0; shift < static_cast<int>(8 * sizeof(Word)); shift += 16) {
      u16 half = static_cast<u16>(a[lane] >> shift);
      const auto flushed = [&format, ftz = ftz](u16 bits) { return ftz && (bits & format.infinity()) == 0 ? u16(bits & 0x8000) : bits; };
      half = flushed(half);
      half = flushed(static_cast<u16>(round_to(value_of(formula, widen(half, format)), format, Rounding::nearest_even)));
      word |= static_cast<Word>(static_cast<u32>(half) << shift);
    }
    result[lane] = word;
  }
  write(warp, i.slot[0], result, mask);
}

template <Formula formula>
Handler approximate_f32(bool ftz) {
  return ftz ? elementwise_without_fma<approximate<formula, true>>() : elementwise_without_fma<approximate<formula, false>>();
}

Handler choose_f32(Formula formula, bool ftz) {
  switch (formula) {
    case Formula::rcp: return approximate_f32<Formula::rcp>(ftz);
    case Formula::sqrt: return approximate_f32<Formula::sqrt>(ftz);
    case Formula::rsqrt: return approximate_f32<Formula::rsqrt>(ftz);
    case Formula::sin: return approximate_f32<Formula::sin>(ftz);
    case Formula::cos: return approximate_f32<Formula::cos>(ftz);
    case Formula::lg2: return approximate_f32<Formula::lg2>(ftz);
    case Formula::ex2: return ftz ? exponential<true> : exponential<false>;
    case Formula::tanh: return approximate_f32<Formula::tanh>(ftz);
  }
  return nullptr;
}

Handler choose_half(Decoder& d, Formula formula, Type type) {
  const bool is_pair = type == Type::f16x2 || type == Type::bf16x2;
  d.options<HalfOptions>() = {type == Type::bf16 || type == Type::bf16x2, d.take("ftz")};
  if (formula == Formula::ex2) return is_pair ? halves<Formula::ex2, u32> : halves<Formula::ex2, u16>;
  if (formula == Formula::tanh) return is_pair ? halves<Formula::tanh, u32> : halves<Formula::tanh, u16>;
  d.fail("no instruction of this type");
}

}  // namespace

void decode_special(Decoder& d) {
  d.out.category = Category::special;
  constexpr std::string_view kNames[] = {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"};
  const auto formula = static_cast<Formula>(std::find(std::begin(kNames), std::end(kNames), d.base()) - std::begin(kNames));
  const Type type = d.take_type();
  const bool approx = d.take("approx");
  const int mode = d.take_one({"rn", "rz", "rm", "rp"});
  const bool has_exact = formula == Formula::rcp || formula == Formula::sqrt;
  if (approx == (mode >= 0) || (mode >= 0 && !has_exact)) d.fail("expected '.approx' or, for rcp and sqrt, a rounding");
  if (type == Type::f32 && approx) {
    d.out.execute = choose_f32(formula, d.take("ftz"));
  } else if (type == Type::f64 && approx && d.take("ftz") && (formula == Formula::rcp || formula == Formula::rsqrt)) {
    d.out.execute = formula == Formula::rcp ? elementwise_without_fma<approximate_upper<Formula::rcp>>()
                                            : elementwise_without_fma<approximate_upper<Formula::rsqrt>>();
  } else if (type == Type::f64 && approx && formula == Formula::rsqrt) {
    d.out.execute = elementwise_without_fma<inverse_root>();
  } else if ((type == Type::f32 || type == Type::f64) && mode >= 0) {
    constexpr Rounding kModes[] = {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up};
    d.options<ExactOptions>() = {kModes[mode], type == Type::f32 && d.take("ftz")};
    if (formula == Formula::rcp)
      d.out.execute = type == Type::f32 ? exact<float, FloatOp::div> : exact<double, FloatOp::div>;
    else
      d.out.execute = type == Type::f32 ? exact<float, FloatOp::sqrt> : exact<double, FloatOp::sqrt>;
  } else if (is_float(type) && approx && bytes_of(type) <= 4 && type != Type::f32) {
    d.out.execute = choose_half(d, formula, type);
  } else {
    d.fail("no instruction of this type");
  }
  d.take_operands(bytes_of(type), {bytes_of(type)}, type);
}

}  // namespace tilewright::rt::emulator
