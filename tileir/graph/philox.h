// Philox4x32-10 of Random123: the random numbers of the tile language, computed on the host.
#pragma once
#include <array>
#include <cstdint>

namespace tilewright::graph {

/// Key: the low and high words of the seed. The counter's words are the low and high words of `counter`, 0 and 0.
inline std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t counter) {
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  std::array<std::uint32_t, 4> x{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * x[0], b = std::uint64_t{0xcd9e8d57} * x[2];
    x = {static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key0, static_cast<std::uint32_t>(b),
         static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key1, static_cast<std::uint32_t>(a)};
    key0 += 0x9e3779b9, key1 += 0xbb67ae85;
  }
  return x;
}

}  // namespace tilewright::graph
