// 16- and 8-bit floats as bits: exact values, and conversion from double with one rounding (to nearest, ties to even).
#pragma once
#include <bit>
#include <cstdint>

namespace tilewright::detail {

/// A binary format of a sign bit, `exponent` and `mantissa` bits. `ieee`: it has infinities (the highest exponent is for them and NaN);
/// otherwise (f8e4m3, OCP OFP8) only the magnitude of all ones is NaN and the highest exponent holds numbers.
struct FloatFormat {
  int exponent, mantissa;
  bool ieee;
};
inline constexpr FloatFormat kF16{5, 10, true}, kBF16{8, 7, true}, kF8E4M3{4, 3, false}, kF8E5M2{5, 2, true};

/// Rounds to nearest even. NaN gives the quiet NaN with its sign and no payload. A value that overflows gives infinity, or NaN if the
/// format has no infinity (as PTX cvt without .satfinite and ml_dtypes do).
constexpr std::uint32_t encode(FloatFormat f, double v) {
  const std::uint64_t u = std::bit_cast<std::uint64_t>(v);
  const std::uint32_t sign = static_cast<std::uint32_t>(u >> 63) << (f.exponent + f.mantissa);
  const std::uint32_t top = ((1u << f.exponent) - 1) << f.mantissa;  // exponent field of all ones
  const std::uint32_t nan = f.ieee ? top | 1u << (f.mantissa - 1) : top | ((1u << f.mantissa) - 1);
  const std::uint32_t overflow = f.ieee ? top : nan;
  const std::uint32_t limit = f.ieee ? top : nan;  // first magnitude that is not a number
  const std::uint64_t magnitude = u & ~(std::uint64_t{1} << 63);
  if (magnitude > 0x7ff0000000000000u) return sign | nan;
  if (magnitude == 0x7ff0000000000000u) return sign | overflow;
  const int bias = (1 << (f.exponent - 1)) - 1;
  const int e = static_cast<int>(magnitude >> 52) - 1023;  // doubles below 2^-1022 round to zero in every format
  if (e < -1022) return sign;
  const std::uint64_t significand = (magnitude & 0xfffffffffffffu) | (std::uint64_t{1} << 52);
  // Bits to drop: all below the format's mantissa, and more for its subnormals.
  const int shift = 52 - f.mantissa + (e < 1 - bias ? 1 - bias - e : 0);
  if (shift > 54) return sign;
  std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1), half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // A carry out of the mantissa increments the exponent, as it must.
  const std::uint64_t code = e < 1 - bias ? kept : kept + (static_cast<std::uint64_t>(e + bias - 1) << f.mantissa);
  return sign | (code >= limit ? overflow : static_cast<std::uint32_t>(code));
}

/// The value, exactly.
constexpr double decode(FloatFormat f, std::uint32_t bits) {
  const int width = f.exponent + f.mantissa;
  const bool negative = (bits >> width) & 1;
  const std::uint32_t magnitude = bits & ((1u << width) - 1), top = ((1u << f.exponent) - 1) << f.mantissa;
  const std::uint64_t sign = static_cast<std::uint64_t>(negative) << 63;
  if (f.ieee ? magnitude > top : magnitude == (top | ((1u << f.mantissa) - 1))) return std::bit_cast<double>(sign | 0x7ff8000000000000u);
  if (f.ieee && magnitude == top) return std::bit_cast<double>(sign | 0x7ff0000000000000u);
  const int bias = (1 << (f.exponent - 1)) - 1, e = static_cast<int>(magnitude >> f.mantissa);
  const std::uint32_t m = magnitude & ((1u << f.mantissa) - 1);
  const double unit = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + (e == 0 ? 1 : e) - bias - f.mantissa) << 52);
  const double value = (e == 0 ? m : m + (1u << f.mantissa)) * unit;
  return negative ? -value : value;
}

constexpr std::uint16_t f16_from(double v) { return static_cast<std::uint16_t>(encode(kF16, v)); }
constexpr std::uint16_t bf16_from(double v) { return static_cast<std::uint16_t>(encode(kBF16, v)); }
constexpr std::uint8_t f8e4m3_from(double v) { return static_cast<std::uint8_t>(encode(kF8E4M3, v)); }
constexpr std::uint8_t f8e5m2_from(double v) { return static_cast<std::uint8_t>(encode(kF8E5M2, v)); }
constexpr double f16_value(std::uint16_t b) { return decode(kF16, b); }
constexpr double bf16_value(std::uint16_t b) { return decode(kBF16, b); }
constexpr double f8e4m3_value(std::uint8_t b) { return decode(kF8E4M3, b); }
constexpr double f8e5m2_value(std::uint8_t b) { return decode(kF8E5M2, b); }

}  // namespace tilewright::detail
