// Rounding to and widening from the floating-point formats of PTX, bit by bit; independent of the host's formats.
#pragma once
#include <bit>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

enum class Rounding : u8 { nearest_even, nearest_away, zero, down, up };

/// A binary format: sign, exponent, fraction. Formats without infinity (e4m3) have one NaN, all ones.
struct FloatFormat {
  int exponent_bits, fraction_bits;
  bool has_infinity = true;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr u64 infinity() const { return ((u64{1} << exponent_bits) - 1) << fraction_bits; }
  constexpr u64 sign() const { return u64{1} << (bits() - 1); }
  constexpr u64 nan() const { return sign() - 1; }  // PTX's canonical NaN: all bits except the sign
  constexpr u64 largest() const { return has_infinity ? infinity() - 1 : nan() - 1; }
};

inline constexpr FloatFormat kF16{5, 10}, kBf16{8, 7}, kTf32{8, 10}, kF32{8, 23}, kE4m3{4, 3, false}, kE5m2{5, 2};

/// x rounded to the format. A value that is too large gives infinity or the largest finite number, depending on the rounding; with
/// `saturate` always the latter, for infinities too. A NaN gives the canonical NaN.
u64 round_to(double x, const FloatFormat&, Rounding, bool saturate = false);
/// The exact value.
double widen(u64 bits, const FloatFormat&);

/// The sum of two doubles, rounded such that a second rounding to 24 bits or fewer gives the same as rounding the exact sum: the last bit
/// is set if the sum is inexact ("round to odd").
double sum_to_odd(double a, double b);

inline float f16_to_f32(u16 half) {
  const u32 magnitude = half & 0x7fffu, sign = static_cast<u32>(half & 0x8000u) << 16;
  // The exponent is too small by 112; a multiplication corrects it for subnormals too.
  const u32 finite = std::bit_cast<u32>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  const u32 bits = magnitude >= 0x7c00 ? 0x7f800000u | (magnitude << 13) : finite;
  return std::bit_cast<float>(bits | sign);
}

inline u16 f32_to_f16(float value) {
  const u32 bits = std::bit_cast<u32>(value), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x47800000u) return static_cast<u16>(sign | 0x7c00u);
  // Below 2^-14 the spacing is 2^-24, which is also that of 0.5f: the addition rounds.
  if (magnitude < 0x38800000u) return static_cast<u16>(sign | (std::bit_cast<u32>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u));
  return static_cast<u16>(sign | ((magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13));
}

inline float bf16_to_f32(u16 half) { return std::bit_cast<float>(static_cast<u32>(half) << 16); }

inline u16 f32_to_bf16(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<u16>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/// Replaces a NaN by the canonical NaN: floats in PTX lose the payload.
inline float canonical(float x) { return x == x ? x : std::bit_cast<float>(0x7fffffffu); }
/// .ftz: subnormal numbers become zeros with their sign.
inline float flush(float x) {
  const u32 bits = std::bit_cast<u32>(x);
  return (bits & 0x7f800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : x;
}
/// .sat: clamps to [0, 1]; NaN becomes 0.
inline float saturate(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
inline double saturate(double x) { return x > 0 ? (x < 1 ? x : 1.0) : 0.0; }

}  // namespace tilewright::rt::emulator
