// Rounding of doubles to narrower formats in every rounding mode of PTX.
#include "runtime/emulator/simd/small_float.h"

#include <cmath>

namespace tilewright::rt::emulator {
namespace {

bool rounds_up(Rounding rounding, bool negative, double fraction, bool odd) {
  switch (rounding) {
    case Rounding::nearest_even: return fraction > 0.5 || (fraction == 0.5 && odd);
    case Rounding::nearest_away: return fraction >= 0.5;
    case Rounding::zero: return false;
    case Rounding::down: return negative && fraction > 0;
    case Rounding::up: return !negative && fraction > 0;
  }
  return false;
}

u64 too_large(const FloatFormat& format, Rounding rounding, bool negative, bool saturate) {
  const bool towards_zero = rounding == Rounding::zero || rounding == (negative ? Rounding::up : Rounding::down);
  if (saturate || towards_zero) return format.largest();
  return format.has_infinity ? format.infinity() : format.nan();
}

}  // namespace

u64 round_to(double x, const FloatFormat& format, Rounding rounding, bool saturate) {
  if (std::isnan(x)) return format.nan();
  const bool negative = std::signbit(x);
  const u64 sign = negative ? format.sign() : 0;
  if (std::isinf(x)) {
    if (saturate) return sign | format.largest();
    return sign | (format.has_infinity ? format.infinity() : format.nan());
  }
  if (x == 0) return sign;
  // The spacing of numbers in x's binade is 2^quantum; below the smallest normal number all binades have the same spacing.
  const int lowest = 1 - format.bias() - format.fraction_bits;
  const int quantum = std::max(std::ilogb(x) - format.fraction_bits, lowest);
  const double scaled = std::ldexp(std::fabs(x), -quantum);
  const double whole = std::floor(scaled);
  u64 count = static_cast<u64>(whole);
  count += rounds_up(rounding, negative, scaled - whole, count & 1);
  // Counted in quanta of its binade, a number's bits are consecutive across binades, so a carry out of the fraction is correct.
  const u64 bits = (static_cast<u64>(quantum - lowest) << format.fraction_bits) + count;
  return sign | (bits > format.largest() ? too_large(format, rounding, negative, saturate) : bits);
}

double widen(u64 bits, const FloatFormat& format) {
  const bool negative = bits & format.sign();
  const u64 magnitude = bits & (format.sign() - 1);
  double value;
  if (format.has_infinity ? magnitude > format.infinity() : magnitude == format.nan()) {
    value = std::nan("");
  } else if (format.has_infinity && magnitude == format.infinity()) {
    value = INFINITY;
  } else {
    const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
    const u64 fraction = magnitude & ((u64{1} << format.fraction_bits) - 1);
    const u64 significand = exponent == 0 ? fraction : fraction | (u64{1} << format.fraction_bits);
    value = std::ldexp(static_cast<double>(significand), std::max(exponent, 1) - format.bias() - format.fraction_bits);
  }
  return negative ? -value : value;
}

double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  // Knuth's two-sum: sum + error is exact.
  const double b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  if (error == 0 || sum == 0) return sum;
  const u64 bits = std::bit_cast<u64>(sum);
  if (bits & 1) return sum;
  // The exact sum is strictly between `sum` and a neighbour; if `sum` is even, that neighbour is the odd one.
  const bool away_from_zero = (error > 0) == (sum > 0);
  return std::bit_cast<double>(away_from_zero ? bits + 1 : bits - 1);
}

}  // namespace tilewright::rt::emulator
