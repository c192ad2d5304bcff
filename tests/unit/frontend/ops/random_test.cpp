// Philox against the test vectors of Random123, and the distributions drawn from it.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/frontend/traced.h"

namespace tw = tilewright;
using traced::run;

namespace {

using Block = std::array<std::uint32_t, 4>;

Block philox(std::uint64_t seed, Block c) {
  std::vector<std::uint32_t> out(8);
  run(
      [&](tw::Ptr<std::uint32_t> out, tw::U64 seed, tw::U32 c0, tw::U32 c1, tw::U32 c2, tw::U32 c3) {
        auto words = tw::philox(seed, c0, c1, c2, c3);
        auto constants = tw::philox(std::uint64_t{0xec4e6c89082efa98}, c[0], c[1], c[2], c[3]);
        for (int i = 0; i < 4; ++i) tw::store(out + i, words[i]), tw::store(out + 4 + i, constants[i]);
      },
      out, seed, c[0], c[1], c[2], c[3]);
  if (seed == 0xec4e6c89082efa98)
    for (int i = 0; i < 4; ++i) CHECK(out[i] == out[4 + i]);
  return {out[0], out[1], out[2], out[3]};
}

}  // namespace

TEST_CASE("philox: the known answers of Random123 (kat_vectors, philox4x32 10)") {
  CHECK(philox(0, {0, 0, 0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~std::uint64_t{0}, {~0u, ~0u, ~0u, ~0u}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  // Key a4093822 299f31d0 is pi's; its high word is the second.
  CHECK(philox(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  philox(0xec4e6c89082efa98, {1, 2, 3, 4});
}

TEST_CASE("rand: in [0, 1), even, and the same for the same seed and counter") {
  constexpr int n = 4096;
  std::vector<float> uniform(n), normal(n);
  std::vector<std::uint32_t> bits(n);
  const auto kernel = [](tw::Ptr<float> u, tw::Ptr<float> g, tw::Ptr<std::uint32_t> b) {
    auto i = tw::arange(0, n);
    tw::store(u + i, tw::rand(7, i)), tw::store(g + i, tw::randn(7, i)), tw::store(b + i, tw::randint(7, i.to<std::int64_t>()));
  };
  run(kernel, uniform, normal, bits);
  double mean = 0, normal_mean = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    CHECK((uniform[i] >= 0 && uniform[i] < 1));
    CHECK(uniform[i] == float(bits[i] >> 8) / (1 << 24));  // the same word
    CHECK(std::isfinite(normal[i]));
    mean += uniform[i] / double(n), normal_mean += normal[i] / double(n), square += double(normal[i]) * normal[i] / n;
  }
  CHECK(std::abs(mean - 0.5) < 0.02);
  CHECK(std::abs(normal_mean) < 0.06);
  CHECK(std::abs(square - 1) < 0.08);
  std::vector<float> again(n);
  run(kernel, again, normal, bits);
  CHECK(again == uniform);
}

TEST_CASE("rand: a counter of 64 bits does not repeat after 2^32") {
  std::vector<std::uint32_t> out(3);
  run(
      [](tw::Ptr<std::uint32_t> out, tw::I64 j) {
        tw::store(out, tw::randint(1, j)), tw::store(out + 1, tw::randint(1, j + (std::int64_t{1} << 32))),
            tw::store(out + 2, tw::randint(2, j));
      },
      out, std::int64_t{5});
  CHECK(out[0] != out[1]);
  CHECK(out[0] != out[2]);
}

TEST_CASE("philox: the high word of a 64-bit counter is the next counter") {
  constexpr std::uint64_t kHigh = std::uint64_t{7} << 32;
  std::vector<std::uint32_t> wide(24), words(24);
  run(
      [](tw::Ptr<std::uint32_t> wide, tw::Ptr<std::uint32_t> words, tw::U64 c, tw::I64 d, tw::U32 low, tw::U32 high) {
        const auto put = [](tw::Ptr<std::uint32_t> p, int row, const std::array<tw::U32, 4>& w) {
          for (int i = 0; i < 4; ++i) tw::store(p + row * 4 + i, w[i]);
        };
        put(wide, 0, tw::philox(3, c)), put(words, 0, tw::philox(3, low, high));
        put(wide, 1, tw::philox(3, d)), put(words, 1, tw::philox(3, low, high));
        put(wide, 2, tw::philox(3, low, c)), put(words, 2, tw::philox(3, low, low, high));
        put(wide, 3, tw::philox(3, 1, 2u, c)), put(words, 3, tw::philox(3, 1, 2, low, high));
        put(wide, 4, tw::philox(3, kHigh | 5)), put(words, 4, tw::philox(3, 5, 7));
        put(wide, 5, tw::philox(3, std::int64_t{-1})), put(words, 5, tw::philox(3, ~0u, ~0u));
      },
      wide, words, kHigh | 5, kHigh | 5, 5u, 7u);
  CHECK(wide == words);
  CHECK(std::vector(wide.begin(), wide.begin() + 4) != std::vector(wide.begin() + 8, wide.begin() + 12));
}

TEST_CASE("philox: a 64-bit constant that fits a word may stand before others, a smaller counter is one word") {
  std::vector<std::uint32_t> out(4);
  run(
      [](tw::Ptr<std::uint32_t> out, tw::I32 minus_one) {
        tw::store(out, tw::philox(3, std::int64_t{5}, 7)[0]), tw::store(out + 1, tw::philox(3, 5, 7)[0]);
        tw::store(out + 2, tw::philox(3, minus_one)[0]), tw::store(out + 3, tw::philox(3, ~0u, 0)[0]);
      },
      out, -1);
  CHECK(out[0] == out[1]);
  CHECK(out[2] == out[3]);
}

TEST_CASE("philox, rand, randn, randint: every bit of a 64-bit seed and counter counts") {
  constexpr std::int64_t kBeyond = std::int64_t{1} << 32;
  std::vector<std::uint32_t> words(4), bits(4);
  std::vector<float> uniform(4), normal(4);
  run(
      [](tw::Ptr<std::uint32_t> words, tw::Ptr<std::uint32_t> bits, tw::Ptr<float> uniform, tw::Ptr<float> normal, tw::I64 j,
         tw::U64 seed) {
        const std::pair<tw::U64, tw::I64> cases[] = {{seed, j}, {seed, j + kBeyond}, {seed + kBeyond, j}, {seed + kBeyond, j + kBeyond}};
        for (int i = 0; i < 4; ++i) {
          const auto& [s, c] = cases[i];
          tw::store(words + i, tw::philox(s, c)[0]), tw::store(bits + i, tw::randint(s, c));
          tw::store(uniform + i, tw::rand(s, c)), tw::store(normal + i, tw::randn(s, c));
        }
      },
      words, bits, uniform, normal, std::int64_t{5}, std::uint64_t{9});
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < i; ++k) {
      CHECK(words[i] != words[k]);
      CHECK(bits[i] != bits[k]);
      CHECK(uniform[i] != uniform[k]);
      CHECK(normal[i] != normal[k]);
    }
}
