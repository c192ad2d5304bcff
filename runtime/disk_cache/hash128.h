// A hash of 128 bits for names and checksums of files. It detects accidents, not forgeries: a user who may write the files may run code
// anyway.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tilewright::rt {

struct Hash128 {
  std::uint64_t high, low;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

/// Two chains of 64 bits over the words of the input; a shorter last word is padded with zeros. Each step, and the final one, is invertible
/// in the state and in the word: inputs of equal length that differ in one word never have the same hash.
inline Hash128 hash128(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kA = 0x9e3779b97f4a7c15u, kB = 0xbf58476d1ce4e5b9u, kC = 0x94d049bb133111ebu;  // the constants of splitmix64
  std::uint64_t a = kA ^ bytes.size(), b = kC;
  for (; !bytes.empty(); bytes = bytes.subspan(bytes.size() < 8 ? bytes.size() : 8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), bytes.size() < 8 ? bytes.size() : 8);
    a = std::rotl(a ^ word, 27) * kB;
    b = (std::rotl(b, 31) + word) * kC;
  }
  const auto mix = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * kB;
    x = (x ^ (x >> 27)) * kC;
    return x ^ (x >> 31);
  };
  a = mix(a);
  b = mix(b + a);
  return {a + b, b};
}

}  // namespace tilewright::rt
