// The element types and state spaces of PTX, by name.
#pragma once
#include <optional>
#include <string_view>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

enum class Type : u8 {
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  u16x2,
  s16x2,
  u4,
  s4,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64,
  tf32,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
};

/// The type with this name, without a dot ("u32"); none if there is no such type.
std::optional<Type> type_named(std::string_view name);
std::string_view name_of(Type);
/// The size of a value in memory and in an instruction; 0 for pred, u4 and s4.
int bytes_of(Type);
bool is_float(Type);
bool is_signed(Type);  // true for s8 to s64

enum class Space : u8 { generic, global, shared, local, constant, param };
std::string_view name_of(Space);

// The windows, in generic addresses, of the spaces other than global. No host allocation has such an address: user addresses on x86-64 and
// AArch64 have fewer than 57 bits.
inline constexpr u64 kSharedWindow = 0xf100'0000'0000'0000;
inline constexpr u64 kLocalWindow = 0xf200'0000'0000'0000;
inline constexpr u64 kParamWindow = 0xf300'0000'0000'0000;
inline constexpr u64 kFunctionWindow = 0xf400'0000'0000'0000;  // pointers to functions
inline constexpr u64 kWindowBytes = 0x0000'0001'0000'0000;
// An address in the shared memory of a block in the cluster consists of the offset and, above it, the block's rank plus one. Without a rank
// it is an address in the executing block's own shared memory.
inline constexpr u64 kRankUnit = 1 << 24;

}  // namespace tilewright::rt::emulator
