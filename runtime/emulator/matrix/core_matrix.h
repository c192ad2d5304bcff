// 8 lines of 16 bytes: the contents of one operand register in all lanes; also the unit of ldmatrix and of matrix descriptors.
#pragma once
#include <cstddef>
#include <cstring>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct alignas(64) CoreMatrix {
  static constexpr int kLines = 8;
  static constexpr std::size_t kLineBytes = 16, kBytes = kLines * kLineBytes;
  std::byte at[kBytes];

  std::byte* line(std::size_t l) { return at + l * kLineBytes; }
  const std::byte* line(std::size_t l) const { return at + l * kLineBytes; }
};

/// Transposes a matrix with elements of 16 bits.
inline CoreMatrix transposed(const CoreMatrix& matrix) {
  using Line [[gnu::vector_size(16)]] = u16;
  Line lines[8];
  std::memcpy(lines, matrix.at, sizeof lines);
  // Interleaving lines l and l + 4 three times moves element e of line l to element l of line e.
#pragma GCC unroll 3
  for (int step = 0; step < 3; ++step) {
    Line next[8];
#pragma GCC unroll 4
    for (int l = 0; l < 4; ++l) {
      next[2 * l] = __builtin_shufflevector(lines[l], lines[l + 4], 0, 8, 1, 9, 2, 10, 3, 11);
      next[2 * l + 1] = __builtin_shufflevector(lines[l], lines[l + 4], 4, 12, 5, 13, 6, 14, 7, 15);
    }
    std::memcpy(lines, next, sizeof lines);
  }
  CoreMatrix result;
  std::memcpy(result.at, lines, sizeof lines);
  return result;
}

}  // namespace tilewright::rt::emulator
