// Evaluates arithmetic, bit operations and comparisons, lane by lane. Integers wrap, and no operand value is undefined behaviour.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tileir/interpreter/lane_loops.h"

namespace tilewright::ir {

namespace {

std::uint64_t low_mask(int bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; }
std::uint64_t width_mask(const Lanes& l) { return low_mask(bits(l.types[0].element())); }
std::uint64_t sign_bit(const Lanes& l) { return std::uint64_t{1} << (bits(l.types[0].element()) - 1); }

// Word-wise ops work on the bits, whatever the element type.
template <class F>
void words1(const Lanes& l, F f) {
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = f(l.operands[0][i]);
}
template <class F>
void words2(const Lanes& l, F f) {
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = f(l.operands[0][i], l.operands[1][i]);
}

// `integer` and `real` are functors of two values of one type.
template <class Integer, class Real>
void number(const Lanes& l, Integer integer, Real real) {
  const Element e = l.types[0].element();
  if (is_float(e))
    with_float(e, [&]<class C>() { map2<C, C>(l, real); });
  else
    with_integer(e, [&]<class C>() { map2<C, C>(l, integer); });
}
template <class F>
void integral(const Lanes& l, F f) {
  with_integer(l.types[0].element(), [&]<class C>() { map2<C, C>(l, f); });
}
template <class F>
void compare(const Lanes& l, F f) {
  with_element(l.types[0].element(), [&]<class C>() { map2<C, BoolCodec>(l, f); });
}

/// Computes in 64 unsigned bits, where nothing overflows and u16 * u16 is not promoted to int.
template <class T>
std::uint64_t wide(T v) {
  return static_cast<std::uint64_t>(v);
}

template <class T>
T divide(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return static_cast<T>(0 - wide(a));
  return static_cast<T>(a / b);
}
template <class T>
T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return static_cast<T>(a % b);
}

enum class NanRule { wins, loses };

/// The lesser (or greater) of two floats as bits: the chosen operand is returned unchanged, with its NaN payload.
template <class C>
std::uint64_t extreme(std::uint64_t wa, std::uint64_t wb, bool greatest, NanRule rule) {
  const auto a = C::get(wa), b = C::get(wb);
  if (std::isnan(a)) return rule == NanRule::wins || std::isnan(b) ? wa : wb;
  if (std::isnan(b)) return rule == NanRule::wins ? wb : wa;
  if (a == b) return std::signbit(a) == greatest ? wb : wa;  // here only zeros of different signs differ
  return (a < b) != greatest ? wa : wb;
}
void extreme(const Lanes& l, bool greatest, NanRule rule) {
  const Element e = l.types[0].element();
  if (is_float(e))
    with_float(e, [&]<class C>() { words2(l, [&](std::uint64_t a, std::uint64_t b) { return extreme<C>(a, b, greatest, rule); }); });
  else
    integral(l, [&](auto a, auto b) { return greatest ? std::max(a, b) : std::min(a, b); });
}

}  // namespace

// ---- one operand ----
void evaluate_neg(const Lanes& l) {
  if (is_float(l.types[0].element()))
    words1(l, [s = sign_bit(l)](std::uint64_t a) { return a ^ s; });
  else
    words1(l, [m = width_mask(l)](std::uint64_t a) { return (0 - a) & m; });
}
void evaluate_abs(const Lanes& l) {
  const Element e = l.types[0].element();
  const std::uint64_t sign = sign_bit(l), mask = width_mask(l);
  if (is_float(e))
    words1(l, [=](std::uint64_t a) { return a & ~sign; });
  else if (is_signed(e))
    words1(l, [=](std::uint64_t a) { return a & sign ? (0 - a) & mask : a; });
  else
    words1(l, [](std::uint64_t a) { return a; });
}
void evaluate_bit_not(const Lanes& l) {
  words1(l, [m = width_mask(l)](std::uint64_t a) { return ~a & m; });
}
void evaluate_popcount(const Lanes& l) {
  words1(l, [](std::uint64_t a) { return static_cast<std::uint64_t>(std::popcount(a)); });
}
void evaluate_clz(const Lanes& l) {
  const int above = 64 - bits(l.types[0].element());
  words1(l, [=](std::uint64_t a) { return static_cast<std::uint64_t>(std::countl_zero(a) - above); });
}
void evaluate_ffs(const Lanes& l) {
  words1(l, [](std::uint64_t a) { return a == 0 ? 0 : static_cast<std::uint64_t>(std::countr_zero(a) + 1); });
}
void evaluate_reverse_bits(const Lanes& l) {
  const int width = bits(l.types[0].element());
  words1(l, [=](std::uint64_t a) {
    std::uint64_t r = 0;
    for (int i = 0; i < width; ++i) r |= (a >> i & 1) << (width - 1 - i);
    return r;
  });
}
void evaluate_isnan(const Lanes& l) {
  with_float(l.types[0].element(), [&]<class C>() { map1<C, BoolCodec>(l, [](auto a) { return std::isnan(a); }); });
}
void evaluate_isinf(const Lanes& l) {
  with_float(l.types[0].element(), [&]<class C>() { map1<C, BoolCodec>(l, [](auto a) { return std::isinf(a); }); });
}

// ---- two operands ----
void evaluate_add(const Lanes& l) {
  number(l, [](auto a, auto b) { return wide(a) + wide(b); }, [](auto a, auto b) { return a + b; });
}
void evaluate_sub(const Lanes& l) {
  number(l, [](auto a, auto b) { return wide(a) - wide(b); }, [](auto a, auto b) { return a - b; });
}
void evaluate_mul(const Lanes& l) {
  number(l, [](auto a, auto b) { return wide(a) * wide(b); }, [](auto a, auto b) { return a * b; });
}
void evaluate_div(const Lanes& l) {
  number(l, [](auto a, auto b) { return divide(a, b); }, [](auto a, auto b) { return a / b; });
}
void evaluate_div_rn(const Lanes& l) {
  with_float(l.types[0].element(), [&]<class C>() { map2<C, C>(l, [](auto a, auto b) { return a / b; }); });
}
void evaluate_rem(const Lanes& l) {
  integral(l, [](auto a, auto b) { return remainder(a, b); });
}
void evaluate_bit_and(const Lanes& l) {
  words2(l, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}
void evaluate_bit_or(const Lanes& l) {
  words2(l, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}
void evaluate_bit_xor(const Lanes& l) {
  words2(l, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}
void evaluate_shl(const Lanes& l) {
  const std::uint64_t width = bits(l.types[0].element()), mask = width_mask(l);
  words2(l, [=](std::uint64_t a, std::uint64_t b) { return b >= width ? 0 : (a << b) & mask; });
}
void evaluate_shr(const Lanes& l) {
  const std::uint64_t width = bits(l.types[0].element());
  with_integer(l.types[0].element(), [&]<class C>() {
    // A shift by the width or more leaves only sign bits, as a shift by width - 1 does, or 0 for unsigned types.
    words2(l, [=](std::uint64_t a, std::uint64_t b) -> std::uint64_t {
      using T = typename C::Value;
      if (b >= width && !std::is_signed_v<T>) return 0;
      return C::put(static_cast<T>(C::get(a) >> std::min(b, width - 1)));
    });
  });
}
void evaluate_minimum(const Lanes& l) { extreme(l, false, NanRule::wins); }
void evaluate_maximum(const Lanes& l) { extreme(l, true, NanRule::wins); }
void evaluate_fmin(const Lanes& l) { extreme(l, false, NanRule::loses); }
void evaluate_fmax(const Lanes& l) { extreme(l, true, NanRule::loses); }
void evaluate_copysign(const Lanes& l) {
  words2(l, [s = sign_bit(l)](std::uint64_t a, std::uint64_t b) { return (a & ~s) | (b & s); });
}
void evaluate_umulhi(const Lanes& l) {
  const int width = bits(l.types[0].element());
  words2(l, [=](std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> width);
  });
}
void evaluate_eq(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a == b; });
}
void evaluate_ne(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a != b; });
}
void evaluate_lt(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a < b; });
}
void evaluate_le(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a <= b; });
}
void evaluate_gt(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a > b; });
}
void evaluate_ge(const Lanes& l) {
  compare(l, [](auto a, auto b) { return a >= b; });
}

// ---- three operands ----
void evaluate_select(const Lanes& l) {
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = l.operands[0][i] ? l.operands[1][i] : l.operands[2][i];
}

}  // namespace tilewright::ir
