// Counter-based random numbers. Each depends only on a seed and a counter, so lanes can compute them in any order.
#pragma once
#include <array>
#include <optional>
#include <utility>

#include "tilewright/ops/library.h"

namespace tilewright {

namespace detail {
enum class Draw : std::uint8_t { rand, randn, randint };
/// Stands for a counter that is left out.
struct NoCounter {};
template <class C>
concept CounterWord = Integers<C> || std::same_as<C, NoCounter>;
/// A counter of philox if it is given, and whether it has 64 bits.
struct Counter {
  std::optional<Input> value;
  bool is_wide = false;
};
template <CounterWord C>
Counter counter(const C& c, const Here& at) {
  if constexpr (std::same_as<C, NoCounter>)
    return {};
  else if constexpr (AnyTile<C>)
    return {input(c, at), kBytes<typename ElementOf<C>::type> == 8};
  else
    return {input(c, at), sizeof(C) == 8};
}
std::array<Made, 4> philox(const Input& seed, const std::array<Counter, 4>&);
Made draw(Draw, const Input& seed, const Input& counter);
}  // namespace detail

/// Philox4x32-10 of Random123. The key is the low and high word of the 64-bit seed; the counter is c0 to c3. The high word of a 64-bit
/// counter is the next counter, which then must not be given: it is an Error, unless the 64-bit counter is a constant that fits 32 bits. A
/// narrower counter is one word.
template <detail::Integers Seed, detail::Integers C0, detail::CounterWord C1 = detail::NoCounter,
          detail::CounterWord C2 = detail::NoCounter, detail::CounterWord C3 = detail::NoCounter>
std::array<U32, 4> philox(const Seed& seed, const C0& c0, const C1& c1 = {}, const C2& c2 = {}, const C3& c3 = {},
                          Here at = Here::current()) {
  const std::array<detail::Made, 4> words = detail::philox(
      detail::input(seed, at), {detail::counter(c0, at), detail::counter(c1, at), detail::counter(c2, at), detail::counter(c3, at)});
  return {U32(words[0]), U32(words[1]), U32(words[2]), U32(words[3])};
}
/// Uniform in [0, 1), in steps of 2^-24. Here and below, all 64 bits of the counter are used.
template <detail::Integers Seed, detail::Integers Counter>
F32 rand(const Seed& seed, const Counter& counter, Here at = Here::current()) {
  return F32(detail::draw(detail::Draw::rand, detail::input(seed, at), detail::input(counter, at)));
}
/// Normally distributed with mean 0 and deviation 1.
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
