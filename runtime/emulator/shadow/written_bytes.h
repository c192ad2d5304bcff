// Flags of written bytes: one byte, 1 or 0, for each byte of memory.
#pragma once
#include <cstring>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The first flag of an unwritten byte; null if there is none.
inline const u8* find_unwritten(const u8* written, int bytes) {
  const auto all = [&]<class T>(T ones) {
    for (int at = 0; at < bytes; at += static_cast<int>(sizeof(T))) {
      T flags;
      std::memcpy(&flags, written + at, sizeof flags);
      if (flags != ones) return false;
    }
    return true;
  };
  if (bytes % 8 == 0 ? all(u64{0x0101010101010101}) : bytes == 4 && all(u32{0x01010101})) return nullptr;
  return static_cast<const u8*>(std::memchr(written, 0, static_cast<std::size_t>(bytes)));
}

/// Marks bytes as written. Most accesses have 4 or 16 bytes, which need no call of memset.
inline void mark_written(u8* written, int bytes) {
  if (bytes == 4)
    std::memset(written, 1, 4);
  else if (bytes == 16)
    std::memset(written, 1, 16);
  else
    std::memset(written, 1, static_cast<std::size_t>(bytes));
}

}  // namespace tilewright::rt::emulator
