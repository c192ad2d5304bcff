// Arithmetic on f32 and f64: IEEE, with PTX's rules for .ftz, .sat and NaN. f32 loses the payload of a NaN, f64 keeps the host's result.
#include <cmath>
#include <type_traits>

#include "runtime/emulator/isa/directed_rounding.h"
#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

struct DirectedOptions {
  FloatOp op = FloatOp::add;
  Rounding rounding = Rounding::zero;
  bool ftz = false, saturates = false;
};

template <bool Ftz, class T>
T enter(T x) {
  if constexpr (Ftz && std::is_same_v<T, float>) return flush(x);
  return x;
}

/// The steps that every result goes through, in this order.
template <bool Ftz, bool Sat, class T>
T leave(T x) {
  x = enter<Ftz>(x);
  if constexpr (Sat) return saturate(x);
  if constexpr (std::is_same_v<T, float>) return canonical(x);
  return x;
}

template <class T, bool Ftz, bool Sat>
struct Nearest {
  static T add(T a, T b) { return leave<Ftz, Sat>(enter<Ftz>(a) + enter<Ftz>(b)); }
  static T sub(T a, T b) { return leave<Ftz, Sat>(enter<Ftz>(a) - enter<Ftz>(b)); }
  static T mul(T a, T b) { return leave<Ftz, Sat>(enter<Ftz>(a) * enter<Ftz>(b)); }
  static T div(T a, T b) { return leave<Ftz, Sat>(enter<Ftz>(a) / enter<Ftz>(b)); }
  /// A function call for each lane if the processor has no instruction for fma.
  static T fma(T a, T b, T c) { return leave<Ftz, Sat>(std::fma(enter<Ftz>(a), enter<Ftz>(b), enter<Ftz>(c))); }
};

#if defined(__x86_64__)
template <class T, bool Ftz, bool Sat>
__attribute__((target("avx2,fma"), flatten)) void fma_by_avx2(Warp& warp, const Instruction& i, Mask mask) {
  Elementwise<Nearest<T, Ftz, Sat>::fma>::execute(warp, i, mask);
}
#endif

template <class T, bool Ftz, bool Sat>
Handler fastest_fma() {
#if defined(__x86_64__)
  if (!has_wide_vectors() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return fma_by_avx2<T, Ftz, Sat>;
#endif
  return elementwise<Nearest<T, Ftz, Sat>::fma>();
}

// The fast quotient is defined only up to |b| = 2^126; above, it is 0, or NaN for infinite a.
float div_approx(float a, float b) {
  const float size = std::fabs(b);
  if (size > 0x1p126f && std::isfinite(size))
    return std::isinf(a) ? canonical(NAN) : std::copysign(0.0f, std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f);
  return a / b;
}
template <bool Ftz>
float div_approx_of(float a, float b) {
  if (std::isnan(a)) return canonical(a);
  return leave<Ftz, false>(div_approx(enter<Ftz>(a), enter<Ftz>(b)));
}

/// Arithmetic in rounding modes other than to nearest.
template <class T>
void directed(Warp& warp, const Instruction& i, Mask mask) {
  const auto [op, rounding, ftz, saturates] = i.options<DirectedOptions>();
  const Lanes<T> a = read<T>(warp, i.slot[1]), b = read<T>(warp, i.slot[2]), c = i.slot[3] < 0 ? b : read<T>(warp, i.slot[3]);
  Lanes<T> result{};
  const auto in = [ftz = ftz](T x) { return ftz ? enter<true>(x) : x; };
  for (const int lane : lanes_of(mask)) {
    const T value = rounded(op, rounding, in(a[lane]), in(b[lane]), in(c[lane]));
    if (ftz)
      result[lane] = saturates ? leave<true, true>(value) : leave<true, false>(value);
    else
      result[lane] = saturates ? leave<false, true>(value) : leave<false, false>(value);
  }
  write(warp, i.slot[0], result, mask);
}

/// The smaller of two numbers, where -0 is smaller than +0. A number wins over NaN unless .NaN is set. There are no branches, so that the
/// compiler can process several lanes at once.
template <class T, bool Min, bool PropagatesNan>
T extreme(T a, T b) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, u32, u64>;
  const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
  const T equal = std::bit_cast<T>(Min ? x | y : x & y);  // they differ at most in the sign of a zero
  const T nan_of_a = std::is_same_v<T, float> ? static_cast<T>(canonical(NAN)) : a;
  const T nan_of_b = std::is_same_v<T, float> ? nan_of_a : b;
  const T b_or_nan = b != b ? nan_of_a : b;
  T result = (a < b) == Min ? a : b;
  result = a == b ? equal : result;
  result = b != b ? (PropagatesNan ? nan_of_b : a) : result;
  return a != a ? (PropagatesNan ? nan_of_a : b_or_nan) : result;
}
template <class T, bool Min, bool PropagatesNan, bool Ftz, bool XorSign>
T extreme_of(T a, T b) {
  a = enter<Ftz>(a), b = enter<Ftz>(b);
  if constexpr (!XorSign) return extreme<T, Min, PropagatesNan>(a, b);
  const bool negative = std::signbit(a) != std::signbit(b);
  const T result = extreme<T, Min, PropagatesNan>(std::fabs(a), std::fabs(b));
  return result != result ? result : std::copysign(result, negative ? T{-1} : T{1});
}

template <class T, bool Ftz>
struct Sign {
  static T abs(T a) { return std::fabs(enter<Ftz>(a)); }
  static T neg(T a) { return -enter<Ftz>(a); }
  static T copy(T a, T b) { return std::copysign(b, a); }
};

enum class TestProperty : u8 { finite, infinite, number, not_a_number, normal, subnormal };
struct TestOptions {
  TestProperty property = TestProperty::finite;
};

template <class T>
void testp(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> a = read<T>(warp, i.slot[1]);
  Mask result = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int kind = std::fpclassify(a[lane]);
    bool holds = false;
    switch (i.options<TestOptions>().property) {
      case TestProperty::finite: holds = kind != FP_INFINITE && kind != FP_NAN; break;
      case TestProperty::infinite: holds = kind == FP_INFINITE; break;
      case TestProperty::number: holds = kind != FP_NAN; break;
      case TestProperty::not_a_number: holds = kind == FP_NAN; break;
      case TestProperty::normal: holds = kind == FP_NORMAL; break;
      default: holds = kind == FP_SUBNORMAL; break;
    }
    result |= static_cast<Mask>(holds) << lane;
  }
  write_mask(warp, i.slot[0], result, mask);
}

template <class F>
Handler for_flags(bool ftz, bool sat, F f) {
  if (ftz) return sat ? f.template operator()<true, true>() : f.template operator()<true, false>();
  return sat ? f.template operator()<false, true>() : f.template operator()<false, false>();
}

template <class T>
Handler choose_nearest(FloatOp op, bool ftz, bool sat) {
  return for_flags(ftz, sat, [&]<bool Ftz, bool Sat>() -> Handler {
    switch (op) {
      case FloatOp::add: return elementwise<Nearest<T, Ftz, Sat>::add>();
      case FloatOp::sub: return elementwise<Nearest<T, Ftz, Sat>::sub>();
      case FloatOp::mul: return elementwise<Nearest<T, Ftz, Sat>::mul>();
      case FloatOp::div: return elementwise<Nearest<T, Ftz, Sat>::div>();
      default: return fastest_fma<T, Ftz, Sat>();
    }
  });
}

template <class T>
Handler choose_extreme(bool is_min, bool nan, bool ftz, bool xor_sign) {
  return for_flags(ftz, nan, [&]<bool Ftz, bool Nan>() -> Handler {
    if (is_min) return xor_sign ? elementwise<extreme_of<T, true, Nan, Ftz, true>>() : elementwise<extreme_of<T, true, Nan, Ftz, false>>();
    return xor_sign ? elementwise<extreme_of<T, false, Nan, Ftz, true>>() : elementwise<extreme_of<T, false, Nan, Ftz, false>>();
  });
}

void decode_testp(Decoder& d) {
  const int property = d.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}, "a property is missing");
  d.options<TestOptions>().property = static_cast<TestProperty>(property);
  const Type type = d.take_type();
  d.out.execute = type == Type::f64 ? testp<double> : testp<float>;
  d.take_operands(0, {bytes_of(type)}, type);
}

void decode_rounded(Decoder& d, Type type, bool ftz) {
  const std::string_view base = d.base();
  const FloatOp op = base == "add"   ? FloatOp::add
                     : base == "sub" ? FloatOp::sub
                     : base == "mul" ? FloatOp::mul
                     : base == "div" ? FloatOp::div
                                     : FloatOp::fma;
  const bool sat = d.take("sat");
  if (sat && (type == Type::f64 || op == FloatOp::div)) d.fail("'.sat' is for f32 sums, differences and products");
  if (op == FloatOp::div && type == Type::f32 && d.take_one({"approx", "full"}) >= 0) {
    // div.full has no such limit, and its error bound of two units allows the exact quotient.
    d.out.category = Category::special;
    if (d.has("approx"))
      d.out.execute = ftz ? elementwise<div_approx_of<true>>() : elementwise<div_approx_of<false>>();
    else
      d.out.execute = choose_nearest<float>(op, ftz, false);
    return;
  }
  const int mode = d.take_one({"rn", "rz", "rm", "rp"});
  if (mode < 0 && (base == "fma" || base == "div")) d.fail("a rounding is missing");
  if (mode <= 0) {
    d.out.execute = type == Type::f64 ? choose_nearest<double>(op, false, false) : choose_nearest<float>(op, ftz, sat);
    return;
  }
  const Rounding rounding = mode == 1 ? Rounding::zero : mode == 2 ? Rounding::down : Rounding::up;
  d.options<DirectedOptions>() = {op, rounding, ftz, sat};
  d.out.execute = type == Type::f64 ? directed<double> : directed<float>;
}

}  // namespace

void decode_float(Decoder& d) {
  const std::string_view base = d.base();
  const Type type = d.last_type().value_or(Type::b8);
  if (type != Type::f32 && type != Type::f64) d.fail("no instruction of this type: expected f32 or f64");
  d.out.category = type == Type::f64 ? Category::float64 : Category::float32;
  if (base == "testp") return decode_testp(d);
  d.take_type();
  const bool ftz = d.take("ftz");
  if (ftz && type == Type::f64) d.fail("'.ftz' is for f32");
  const bool f64 = type == Type::f64;
  std::size_t sources = 2;
  if (base == "min" || base == "max") {
    const bool nan = d.take("NaN");
    bool xor_sign = false;
    if (d.take("xorsign")) {
      if (!d.take("abs")) d.fail("'.xorsign' needs '.abs'");
      xor_sign = true;
    }
    d.out.execute =
        f64 ? choose_extreme<double>(base == "min", nan, false, xor_sign) : choose_extreme<float>(base == "min", nan, ftz, xor_sign);
  } else if (base == "abs" || base == "neg") {
    sources = 1;
    const auto choose = [&]<class S>() { return base == "abs" ? elementwise<S::abs>() : elementwise<S::neg>(); };
    d.out.execute = f64   ? choose.operator()<Sign<double, false>>()
                    : ftz ? choose.operator()<Sign<float, true>>()
                          : choose.operator()<Sign<float, false>>();
  } else if (base == "copysign") {
    d.out.execute = f64 ? elementwise<Sign<double, false>::copy>() : elementwise<Sign<float, false>::copy>();
  } else {
    if (base == "fma" || base == "mad") sources = 3;
    decode_rounded(d, type, ftz);
  }
  d.take_operands(bytes_of(type), std::vector<int>(sources, bytes_of(type)), type);
}

}  // namespace tilewright::rt::emulator
