// Element-wise functions. The op table (tileir/ops.def) defines their special cases.
#pragma once
#include "tilewright/tile.h"

namespace tilewright {

namespace detail {
Made fma(const Input& a, const Input& b, const Input& c, TypeCode meet);
Made clamp(const Input& x, const Input& lo, const Input& hi, TypeCode meet);
Made where(const Handle& condition, const Input& a, const Input& b, TypeCode meet);
Made fast_unary(Unary, const Input&);
Made fast_div(const Input& a, const Input& b, TypeCode meet);
}  // namespace detail

#define TW_UNARY(NAME, KIND, RESULT)                                  \
  template <KIND T>                                                   \
  Tile<RESULT> NAME(const Tile<T>& x, Here at = Here::current()) {    \
    return Tile<RESULT>(detail::unary(detail::Unary::NAME, {x, at})); \
  }
/// |x|; the least integer stays itself.
TW_UNARY(abs, NumberElement, T)
/// The least integer that is not below x.
TW_UNARY(ceil, FloatElement, T)
/// The greatest integer that is not above x.
TW_UNARY(floor, FloatElement, T)
/// The nearest integer, half away from zero.
TW_UNARY(round, FloatElement, T)
/// The nearest integer, half to even.
TW_UNARY(rint, FloatElement, T)
/// x without its fraction.
TW_UNARY(trunc, FloatElement, T)
/// The square root, at most 1 ulp from the exact one; NaN below 0.
TW_UNARY(sqrt, FloatElement, T)
/// 1 / sqrt(x), at most 4 ulp from it.
TW_UNARY(rsqrt, FloatElement, T)
/// e to the x. For f32 the error is at most 4 ulp on every device, as for exp2, log, log2, tanh and erf; passes/ACCURACY.md lists measured
/// errors. Here and below, f16 and bf16 are computed in f32 and rounded once.
TW_UNARY(exp, FloatElement, T)
/// 2 to the x.
TW_UNARY(exp2, FloatElement, T)
/// 10 to the x.
TW_UNARY(exp10, FloatElement, T)
/// e to the x, minus 1: accurate near 0, where `exp(x) - 1` loses digits.
TW_UNARY(expm1, FloatElement, T)
/// The natural logarithm; -inf for 0, NaN for less.
TW_UNARY(log, FloatElement, T)
/// The logarithm to base 2; -inf for 0, NaN for less.
TW_UNARY(log2, FloatElement, T)
/// The logarithm to base 10; -inf for 0, NaN for less.
TW_UNARY(log10, FloatElement, T)
/// The natural logarithm of 1 + x: accurate near 0, where `log(1 + x)` loses digits; -inf for -1, NaN for less.
TW_UNARY(log1p, FloatElement, T)
/// The sine of x radians; for every finite x the error is at most 4 ulp or 1e-6.
TW_UNARY(sin, FloatElement, T)
/// The cosine of x radians; for every finite x the error is at most 4 ulp or 1e-6.
TW_UNARY(cos, FloatElement, T)
/// The tangent of x radians, for any finite x.
TW_UNARY(tan, FloatElement, T)
/// The angle from -pi/2 to pi/2 whose sine is x; NaN beyond 1 and -1.
TW_UNARY(asin, FloatElement, T)
/// The angle from 0 to pi whose cosine is x; NaN beyond 1 and -1.
TW_UNARY(acos, FloatElement, T)
/// The angle from -pi/2 to pi/2 whose tangent is x.
TW_UNARY(atan, FloatElement, T)
/// The hyperbolic sine.
TW_UNARY(sinh, FloatElement, T)
/// The hyperbolic cosine.
TW_UNARY(cosh, FloatElement, T)
/// The hyperbolic tangent.
TW_UNARY(tanh, FloatElement, T)
/// The cube root, negative for negative x.
TW_UNARY(cbrt, FloatElement, T)
/// The error function.
TW_UNARY(erf, FloatElement, T)
/// Whether x is not a number.
TW_UNARY(isnan, FloatElement, bool)
/// Whether x is an infinity of either sign.
TW_UNARY(isinf, FloatElement, bool)
/// The number of bits that are set.
TW_UNARY(popcount, IntegerElement, std::int32_t)
/// The number of leading zero bits; the width of T for 0.
TW_UNARY(clz, IntegerElement, std::int32_t)
/// 1 + the index of the lowest set bit; 0 for 0.
TW_UNARY(ffs, IntegerElement, std::int32_t)
/// The bits in reverse order: the lowest becomes the highest.
TW_UNARY(reverse_bits, IntegerElement, T)
#undef TW_UNARY

// Two or more arguments: tiles and constants in any mixture with at least one tile.
#define TW_BINARY(NAME, KIND)                                                                                           \
  template <detail::Argument A, detail::Argument B>                                                                     \
    requires KIND<detail::Common<A, B>>                                                                                 \
  Tile<detail::Common<A, B>> NAME(const A& a, const B& b, Here at = Here::current()) {                                  \
    using T = detail::Common<A, B>;                                                                                     \
    return Tile<T>(detail::binary(detail::Binary::NAME, detail::input(a, at), detail::input(b, at), detail::kCode<T>)); \
  }
/// a to the b, with the special cases of C; for f32 the error is at most 16 ulp.
TW_BINARY(pow, FloatElement)
/// The lesser and the greater value. NaN wins, and -0 is below +0.
TW_BINARY(minimum, NumberElement)
TW_BINARY(maximum, NumberElement)
/// The lesser and the greater value. A number wins over NaN, and -0 is below +0.
TW_BINARY(fmin, FloatElement)
TW_BINARY(fmax, FloatElement)
/// |a| with the sign of b.
TW_BINARY(copysign, FloatElement)
/// The angle of the point (b, a), from -pi to pi: the arctangent of a / b, in the quadrant of the point. Special cases are those of C.
TW_BINARY(atan2, FloatElement)
/// sqrt(a * a + b * b), without overflow or underflow in between; infinite if a or b is infinite, even if the other is NaN.
TW_BINARY(hypot, FloatElement)
/// The upper half of the double-width product.
TW_BINARY(umulhi, UnsignedElement)
/// a / b rounded to nearest even.
TW_BINARY(div_rn, FloatElement)
#undef TW_BINARY

#define TW_TERNARY(NAME, KIND)                                                                                        \
  template <detail::Argument A, detail::Argument B, detail::Argument C>                                               \
    requires KIND<detail::Common<A, B, C>>                                                                            \
  Tile<detail::Common<A, B, C>> NAME(const A& a, const B& b, const C& c, Here at = Here::current()) {                 \
    using T = detail::Common<A, B, C>;                                                                                \
    return Tile<T>(detail::NAME(detail::input(a, at), detail::input(b, at), detail::input(c, at), detail::kCode<T>)); \
  }
/// a * b + c, rounded once.
TW_TERNARY(fma, FloatElement)
/// minimum(maximum(x, lo), hi); NaN if any of them is NaN.
TW_TERNARY(clamp, NumberElement)
#undef TW_TERNARY

/// Faster f32 (and 16-bit) functions of smaller range and accuracy: see passes/ACCURACY.md. f64 is computed as without `fast`.
namespace fast {
#define TW_FAST_UNARY(NAME)                                           \
  template <FloatElement T>                                           \
  Tile<T> NAME(const Tile<T>& x, Here at = Here::current()) {         \
    return Tile<T>(detail::fast_unary(detail::Unary::NAME, {x, at})); \
  }
/// 0 for x below -87.6, infinite from 88.3 on.
TW_FAST_UNARY(exp)
/// For normal x > 0; NaN and infinity remain; -inf for all others.
TW_FAST_UNARY(log)
/// For |x| up to 10000.
TW_FAST_UNARY(sin)
TW_FAST_UNARY(cos)
TW_FAST_UNARY(tanh)
#undef TW_FAST_UNARY
/// a times the reciprocal of b, if that is faster.
template <detail::Argument A, detail::Argument B>
  requires FloatElement<detail::Common<A, B>>
Tile<detail::Common<A, B>> div(const A& a, const B& b, Here at = Here::current()) {
  using T = detail::Common<A, B>;
  return Tile<T>(detail::fast_div(detail::input(a, at), detail::input(b, at), detail::kCode<T>));
}
}  // namespace fast

/// condition ? a : b, lane by lane; also for pointers.
template <detail::Argument A, detail::Argument B>
  requires Element<detail::Common<A, B>>
Tile<detail::Common<A, B>> where(const Bool& condition, const A& a, const B& b, Here at = Here::current()) {
  using T = detail::Common<A, B>;
  return Tile<T>(detail::where(condition, detail::input(a, at), detail::input(b, at), detail::kCode<T>));
}

namespace detail {

/// The element type of a C++ scalar alone: integers by width and sign; inf and nan are f32.
template <class S>
struct OwnElementOf {
  using type = S;
};
template <HostInteger S>
  requires(sizeof(S) <= 8)
struct OwnElementOf<S> {
  using Signed =
      std::conditional_t<sizeof(S) == 1, std::int8_t,
                         std::conditional_t<sizeof(S) == 2, std::int16_t, std::conditional_t<sizeof(S) == 4, std::int32_t, std::int64_t>>>;
  using type = std::conditional_t<std::is_signed_v<S>, Signed, std::make_unsigned_t<Signed>>;
};
template <>
struct OwnElementOf<FloatConstant> {
  using type = float;
};
template <class S>
using OwnElement = typename OwnElementOf<S>::type;

/// The common element type of two C++ numbers without a tile: that of tiles of their own types. An integer takes the type of a float; inf
/// and nan are f32 if the other number does not decide.
template <HostScalar A, HostScalar B>
struct NumbersMeet : CommonOf<OwnElement<A>, OwnElement<B>> {};
template <HostInteger A, HostFloat B>
struct NumbersMeet<A, B> {
  using type = OwnElement<B>;
};
template <HostFloat A, HostInteger B>
struct NumbersMeet<A, B> {
  using type = OwnElement<A>;
};
template <HostFloat B>
  requires(!std::same_as<B, FloatConstant>)
struct NumbersMeet<FloatConstant, B> {
  using type = B;
};
template <HostFloat A>
  requires(!std::same_as<A, FloatConstant>)
struct NumbersMeet<A, FloatConstant> {
  using type = A;
};
template <class A, class B>
using CommonNumber = typename NumbersMeet<A, B>::type;

}  // namespace detail

/// where() with two C++ numbers: the result is a tile of their type. `int` gives I32, `float` F32, `double` F64, and so on. Different types
/// meet as their tiles do; an integer with a float becomes that float if it is exact in it.
template <detail::HostScalar A, detail::HostScalar B>
  requires ValueElement<detail::CommonNumber<A, B>>
Tile<detail::CommonNumber<A, B>> where(const Bool& condition, const A& a, const B& b, Here at = Here::current()) {
  using T = detail::CommonNumber<A, B>;
  return Tile<T>(detail::where(condition, detail::input(a, at), detail::input(b, at), detail::kCode<T>));
}

/// t.to<U>(), for templates, where one would have to write `t.template to<U>()`.
template <ValueElement U, ValueElement T>
Tile<U> cast(const Tile<T>& t, Here at = Here::current()) {
  return Tile<U>(detail::cast(t, detail::kCode<U>, at));
}

}  // namespace tilewright
