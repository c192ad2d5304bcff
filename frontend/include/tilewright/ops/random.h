// Random numbers that depend on a seed and a counter only, so any lane can make its own in any order.
#pragma once
#include <array>
#include <utility>

#include "tilewright/ops/library.h"

namespace tilewright {

namespace detail {
enum class Draw : std::uint8_t { rand, randn, randint };
std::array<Made, 4> philox(const Input& seed, const Input& c0, const Input& c1, const Input& c2, const Input& c3);
Made draw(Draw, const Input& seed, const Input& counter);
}  // namespace detail

/// Philox4x32-10 of Random123. Key: the low and high words of the 64-bit seed; counter: c0 to c3, of which the low 32 bits count.
template <detail::Integers Seed, detail::Integers C0, detail::Integers C1 = int, detail::Integers C2 = int, detail::Integers C3 = int>
std::array<U32, 4> philox(const Seed& seed, const C0& c0, const C1& c1 = 0, const C2& c2 = 0, const C3& c3 = 0, Here at = Here::current()) {
  const std::array<detail::Made, 4> words =
      detail::philox(detail::input(seed, at), detail::input(c0, at), detail::input(c1, at), detail::input(c2, at), detail::input(c3, at));
  return {U32(words[0]), U32(words[1]), U32(words[2]), U32(words[3])};
}
/// Uniform in [0, 1), in steps of 2^-24. All 64 bits of the counter count, here and below.
template <detail::Integers Seed, detail::Integers Counter>
F32 rand(const Seed& seed, const Counter& counter, Here at = Here::current()) {
  return F32(detail::draw(detail::Draw::rand, detail::input(seed, at), detail::input(counter, at)));
}
/// Of the normal distribution with mean 0 and deviation 1.
template <detail::Integers Seed, detail::Integers Counter>
F32 randn(const Seed& seed, const Counter& counter, Here at = Here::current()) {
  return F32(detail::draw(detail::Draw::randn, detail::input(seed, at), detail::input(counter, at)));
}
/// 32 random bits.
template <detail::Integers Seed, detail::Integers Counter>
U32 randint(const Seed& seed, const Counter& counter, Here at = Here::current()) {
  return U32(detail::draw(detail::Draw::randint, detail::input(seed, at), detail::input(counter, at)));
}

}  // namespace tilewright
