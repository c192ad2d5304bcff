// The math functions in terms of arithmetic: each takes f32 or f64 values and computes without branches, tables or memory. The error of
// each is measured in passes/ACCURACY.md. Coefficients without a named source are minimax fits made for this file (Remez exchange, relative
// error of the whole function, rounded low order first with a refit of the rest).
#pragma once
#include <cstdint>

#include "passes/math/emitter.h"

namespace tilewright::passes::math {

/// The fields of an IEEE format.
struct Format {
  ir::Element real, integer;  // the float type, and the signed integer type of its width
  int mantissa;               // the number of stored bits
  int bias;
  /// 1.5 * 2^mantissa: adding it to a number rounds the number to an integer, which the low bits of the sum then hold.
  double magic() const { return 1.5 * static_cast<double>(std::int64_t{1} << mantissa); }
};
inline constexpr Format kF32{ir::Element::f32, ir::Element::i32, 23, 127};
inline constexpr Format kF64{ir::Element::f64, ir::Element::i64, 52, 1023};
inline const Format& format_of(Expr x) { return x.element() == ir::Element::f32 ? kF32 : kF64; }

Expr exp(Expr x);
Expr exp2(Expr x);
Expr exp10(Expr x);
Expr expm1(Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr tanh(Expr x);
Expr log(Expr x);
Expr log2(Expr x);
Expr log10(Expr x);
Expr log1p(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);
Expr cbrt(Expr x);
Expr hypot(Expr x, Expr y);
Expr erf(Expr x);
Expr pow(Expr x, Expr y);
Expr rsqrt(Expr x);
Expr round(Expr x);

// Only for f32, with the ranges and errors that ACCURACY.md gives.
Expr fast_exp(Expr x);
Expr fast_log(Expr x);
Expr fast_sin(Expr x);
Expr fast_cos(Expr x);
Expr fast_tanh(Expr x);

/// p * 2^n for an integer n with 2^n in the range of normal numbers. `t` is a float whose low bits hold n + bias.
Expr scale_normal(Expr p, Expr t);
/// p * 2^n, rounded once, for any n from about -2 bias to 2 bias: results may be subnormal or infinite. The low bits of `t` hold n + 2
/// bias.
Expr scale_any(Expr p, Expr t);
/// e^x for |x| so small that the result is normal, within 2 ulp. Of the special cases only NaN is handled.
Expr exp_moderate(Expr x);

/// x > 0, finite, as 2^k * m: k is an integer held in x's float type, m is in [low, 2 low).
struct Decomposed {
  Expr m, k;
};
Decomposed decompose(Expr x, std::int64_t low_bits);

}  // namespace tilewright::passes::math
