// Random numbers that are the same on every machine for a seed (the standard's distributions are not).
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace tilewright::fuzz {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to n - 1. The bias of the modulus is too small to matter.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  /// lo to hi, both included.
  std::int64_t between(std::int64_t lo, std::int64_t hi) {
    return lo + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(hi - lo + 1));
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  template <class Container>
  const auto& pick(const Container& c) {
    return c[below(std::size(c))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace tilewright::fuzz
