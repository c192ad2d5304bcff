// Evaluates rounding, roots, fma and the elementary functions, lane by lane.
//
// Elementary functions call the C library in the next larger format (double for types up to f32, long double for f64) and round once. In
// practice that is the correctly rounded result: the reference for errors in ulp.
#include <cmath>

#include "tileir/interpreter/lane_loops.h"

namespace tilewright::ir {

namespace {

/// A function that is exact or correctly rounded in the type of its operand.
template <class F>
void exact(const Lanes& l, F f) {
  with_float(l.types[0].element(), [&]<class C>() { map1<C, C>(l, f); });
}

template <class F>
void elementary(const Lanes& l, F f) {
  with_float(l.types[0].element(), [&]<class C>() {
    using Wide = std::conditional_t<std::is_same_v<C, F64Codec>, long double, double>;
    map1<C, C>(l, [&](Wide x) { return f(x); });
  });
}

template <class F>
void elementary2(const Lanes& l, F f) {
  with_float(l.types[0].element(), [&]<class C>() {
    using Wide = std::conditional_t<std::is_same_v<C, F64Codec>, long double, double>;
    map2<C, C>(l, [&](Wide a, Wide b) { return f(a, b); });
  });
}

/// a * b + c rounded to odd: if inexact, the neighbour whose last bit is set, so that a second rounding to fewer than 52 bits sees on which
/// side of a tie the sum is. Requires: a * b is exact in double.
double fma_to_odd(double a, double b, double c) {
  const double p = a * b, s = p + c;
  if (!std::isfinite(s)) return s;
  const double t = s - p, error = (p - (s - t)) + (c - t);  // Knuth's TwoSum: p + c = s + error
  if (error == 0) return s;
  const std::uint64_t u = std::bit_cast<std::uint64_t>(s);
  if (u & 1) return s;
  return std::nextafter(s, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

}  // namespace

void evaluate_ceil(const Lanes& l) {
  exact(l, [](auto x) { return std::ceil(x); });
}
void evaluate_floor(const Lanes& l) {
  exact(l, [](auto x) { return std::floor(x); });
}
void evaluate_round(const Lanes& l) {
  exact(l, [](auto x) { return std::round(x); });
}
void evaluate_rint(const Lanes& l) {
  exact(l, [](auto x) { return std::nearbyint(x); });
}
void evaluate_trunc(const Lanes& l) {
  exact(l, [](auto x) { return std::trunc(x); });
}
void evaluate_sqrt(const Lanes& l) {
  exact(l, [](auto x) { return std::sqrt(x); });
}
void evaluate_rsqrt(const Lanes& l) {
  elementary(l, [](auto x) { return 1 / std::sqrt(x); });
}
void evaluate_exp(const Lanes& l) {
  elementary(l, [](auto x) { return std::exp(x); });
}
void evaluate_exp2(const Lanes& l) {
  elementary(l, [](auto x) { return std::exp2(x); });
}
void evaluate_exp10(const Lanes& l) {
  elementary(l, [](auto x) { return std::pow(decltype(x){10}, x); });
}
void evaluate_expm1(const Lanes& l) {
  elementary(l, [](auto x) { return std::expm1(x); });
}
void evaluate_log(const Lanes& l) {
  elementary(l, [](auto x) { return std::log(x); });
}
void evaluate_log2(const Lanes& l) {
  elementary(l, [](auto x) { return std::log2(x); });
}
void evaluate_log10(const Lanes& l) {
  elementary(l, [](auto x) { return std::log10(x); });
}
void evaluate_log1p(const Lanes& l) {
  elementary(l, [](auto x) { return std::log1p(x); });
}
void evaluate_sin(const Lanes& l) {
  elementary(l, [](auto x) { return std::sin(x); });
}
void evaluate_cos(const Lanes& l) {
  elementary(l, [](auto x) { return std::cos(x); });
}
void evaluate_tan(const Lanes& l) {
  elementary(l, [](auto x) { return std::tan(x); });
}
void evaluate_asin(const Lanes& l) {
  elementary(l, [](auto x) { return std::asin(x); });
}
void evaluate_acos(const Lanes& l) {
  elementary(l, [](auto x) { return std::acos(x); });
}
void evaluate_atan(const Lanes& l) {
  elementary(l, [](auto x) { return std::atan(x); });
}
void evaluate_sinh(const Lanes& l) {
  elementary(l, [](auto x) { return std::sinh(x); });
}
void evaluate_cosh(const Lanes& l) {
  elementary(l, [](auto x) { return std::cosh(x); });
}
void evaluate_cbrt(const Lanes& l) {
  elementary(l, [](auto x) { return std::cbrt(x); });
}
void evaluate_tanh(const Lanes& l) {
  elementary(l, [](auto x) { return std::tanh(x); });
}
void evaluate_erf(const Lanes& l) {
  elementary(l, [](auto x) { return std::erf(x); });
}

void evaluate_pow(const Lanes& l) {
  elementary2(l, [](auto a, auto b) { return std::pow(a, b); });
}
void evaluate_atan2(const Lanes& l) {
  elementary2(l, [](auto a, auto b) { return std::atan2(a, b); });
}
void evaluate_hypot(const Lanes& l) {
  elementary2(l, [](auto a, auto b) { return std::hypot(a, b); });
}

void evaluate_fma(const Lanes& l) {
  const std::uint64_t *a = l.operands[0], *b = l.operands[1], *c = l.operands[2];
  with_float(l.types[0].element(), [&]<class C>() {
    for (std::size_t i = 0; i < l.count; ++i) {
      if constexpr (std::is_same_v<C, F32Codec> || std::is_same_v<C, F64Codec>)
        l.out[i] = C::put(std::fma(C::get(a[i]), C::get(b[i]), C::get(c[i])));
      else
        l.out[i] = C::put(fma_to_odd(C::get(a[i]), C::get(b[i]), C::get(c[i])));
    }
  });
}

}  // namespace tilewright::ir
