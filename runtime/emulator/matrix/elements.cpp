// Widens and rounds matrix elements.
#include "runtime/emulator/matrix/elements.h"

#include <bit>
#include <cmath>

#include "runtime/emulator/simd/small_float.h"

namespace tilewright::rt::emulator {

int operand_bits(Type type) {
  if (type == Type::s4 || type == Type::u4) return 4;
  return type == Type::tf32 || type == Type::f32 ? 32 : 8 * bytes_of(type);
}

double number_of(u64 bits, Type type) {
  switch (type) {
    case Type::f64: return std::bit_cast<double>(bits);
    case Type::f32: return std::bit_cast<float>(static_cast<u32>(bits));
    // The hardware reads only the upper 19 bits.
    case Type::tf32: return std::bit_cast<float>(static_cast<u32>(bits) & 0xffffe000u);
    case Type::f16: return f16_to_f32(static_cast<u16>(bits));
    case Type::bf16: return bf16_to_f32(static_cast<u16>(bits));
    case Type::e4m3: return widen(bits & 0xff, kE4m3);
    case Type::e5m2: return widen(bits & 0xff, kE5m2);
    case Type::s8: return static_cast<s8>(bits);
    case Type::u8: return static_cast<u8>(bits);
    default: return static_cast<s32>(bits);
  }
}

u64 bits_of_sum(double sum, Type type, bool saturates) {
  switch (type) {
    case Type::f64: return std::bit_cast<u64>(sum);
    case Type::f32: return std::bit_cast<u32>(canonical(static_cast<float>(sum)));
    case Type::f16: return round_to(sum, kF16, Rounding::nearest_even);
    default: break;
  }
  if (saturates) return static_cast<u32>(static_cast<s32>(std::fmin(std::fmax(sum, -2147483648.0), 2147483647.0)));
  return static_cast<u32>(static_cast<s64>(sum));
}

}  // namespace tilewright::rt::emulator
