// PTX's short names for the integer types with which the emulator computes, and the width of a warp.
#pragma once
#include <cstdint>

namespace tilewright::rt::emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

inline constexpr int kLanes = 32;
/// One bit for each lane.
using Mask = u32;
inline constexpr Mask kAllLanes = 0xffffffffu;

}  // namespace tilewright::rt::emulator
