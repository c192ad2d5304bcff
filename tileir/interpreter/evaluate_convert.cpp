// Evaluates casts, bit casts and pointer arithmetic, lane by lane. Every cast rounds once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tileir/builder.h"
#include "tileir/interpreter/lane_loops.h"

namespace tilewright::ir {

namespace {

/// A float as an integer: rounded towards zero, limits where it is out of range, 0 for NaN.
template <class T>
T saturate(double v) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(v)) return 0;
  const double limit = std::ldexp(1.0, Limits::digits);  // one past the greatest value: exact even if the greatest value is not
  if (v >= limit) return Limits::max();
  if (v <= (Limits::is_signed ? -limit : 0.0)) return Limits::min();
  return static_cast<T>(v);
}

/// An integer as a double, rounded to odd: the last of its 53 bits is 1 if any bits were lost. Rounding that to a format of at most 51 bits
/// gives the same as rounding the integer itself; two roundings to nearest may not (Boldo and Melquiond 2008).
template <class T>
double to_odd(T v) {
  const bool negative = v < 0;
  const std::uint64_t wide = static_cast<std::uint64_t>(v), magnitude = negative ? 0 - wide : wide;
  const int drop = std::max(0, static_cast<int>(std::bit_width(magnitude)) - 53);
  std::uint64_t kept = magnitude >> drop;
  if ((kept << drop) != magnitude) kept |= 1;
  const double d = std::ldexp(static_cast<double>(kept), drop);
  return negative ? -d : d;
}

/// The bits of one element, converted from one codec's type to the other's (lane_loops.h).
template <class From, class To>
std::uint64_t convert(std::uint64_t word) {
  using T = typename To::Value;
  const auto v = From::get(word);
  using V = std::remove_const_t<decltype(v)>;
  if constexpr (std::is_same_v<From, To>) {
    return word;
  } else if constexpr (std::is_same_v<To, BoolCodec>) {
    return v != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_floating_point_v<V>)
      return To::put(saturate<T>(v));
    else
      return To::put(static_cast<T>(v));
  } else if constexpr (!std::is_integral_v<V> || std::is_same_v<V, bool> || std::is_same_v<To, F32Codec> || std::is_same_v<To, F64Codec>) {
    return To::put(static_cast<T>(v));  // C++ rounds an integer to float or double once
  } else {
    return To::put(to_odd(v));
  }
}

}  // namespace

void evaluate_cast(const Lanes& l) {
  with_element(l.types[0].element(), [&]<class From>() {
    with_element(l.result.element(), [&]<class To>() {
      for (std::size_t i = 0; i < l.count; ++i) l.out[i] = convert<From, To>(l.operands[0][i]);
    });
  });
}

void evaluate_bitcast(const Lanes& l) {
  for (std::size_t i = 0; i < l.count; ++i) l.out[i] = l.operands[0][i];
}

void evaluate_add_ptr(const Lanes& l) {
  const std::uint64_t size = bytes(l.types[0].element());
  const Element offset = l.types[1].element();
  for (std::size_t i = 0; i < l.count; ++i)
    l.out[i] = l.operands[0][i] + static_cast<std::uint64_t>(integer_value(offset, l.operands[1][i])) * size;
}

}  // namespace tilewright::ir
