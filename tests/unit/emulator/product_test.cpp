// Matrix products with the host's vector instructions against scalar code, bit for bit: random bits of each type, with infinities and NaN.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/emulator/matrix/elements.h"
#include "runtime/emulator/matrix/product.h"

namespace tilewright::rt::emulator {
namespace {

template <class T>
void fill(T& bytes, std::mt19937& random) {
  auto* at = reinterpret_cast<std::byte*>(&bytes);
  for (std::size_t i = 0; i < sizeof bytes; ++i) at[i] = static_cast<std::byte>(random());
}

double element(const CoreMatrix& matrix, Type type, std::size_t line, std::size_t e) {
  const auto bytes = static_cast<std::size_t>(operand_bits(type) / 8);
  u64 bits = 0;
  std::memcpy(&bits, matrix.line(line) + e * bytes, bytes);
  return number_of(bits, type);
}

bool same(double a, double b) { return std::bit_cast<u64>(a) == std::bit_cast<u64>(b) || (a != a && b != b); }

}  // namespace

TEST_CASE("emulator products: elements come to their rows and columns, along k and across it") {
  std::mt19937 random(1);
  for (const Type type : {Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::e5m2, Type::s8, Type::u8}) {
    CAPTURE(name_of(type));
    const auto elements = 16 / static_cast<std::size_t>(operand_bits(type) / 8);
    const Unpacker unpack(type);
    for (int n = 0; n < 200; ++n) {
      CoreMatrix lines;
      fill(lines, random);
      RowsOfA a;
      ColumnsOfB b[8];
      const MatrixLines at = lines_in_register(lines.at);
      unpack.rows(at, 8, elements, a);
      unpack.columns(at, b + elements / 4);
      for (std::size_t line = 0; line < 8; ++line)
        for (std::size_t e = 0; e < elements; ++e) {
          REQUIRE(same(a(8 + line, elements + e), element(lines, type, line, e)));
          REQUIRE(same(step_of(b, elements + e)[position_of(line)], element(lines, type, line, e)));
        }
      if (operand_bits(type) != 16) continue;
      unpack.rows_across(at, 8, 8, a);
      unpack.columns_across(at, b + 2);
      for (std::size_t line = 0; line < 8; ++line)
        for (std::size_t e = 0; e < 8; ++e) {
          REQUIRE(same(a(8 + e, 8 + line), element(lines, type, line, e)));
          REQUIRE(same(step_of(b, 8 + line)[position_of(e)], element(lines, type, line, e)));
        }
    }
  }
}

TEST_CASE("emulator products: lines may be anywhere") {
  std::mt19937 random(4);
  std::array<CoreMatrix, 4> memory;
  fill(memory, random);
  const std::array<u32, 8> offsets = {96, 480, 0, 16, 304, 240, 496, 32};
  CoreMatrix lines;
  for (std::size_t line = 0; line < 8; ++line) std::memcpy(lines.line(line), memory[0].at + offsets[line], CoreMatrix::kLineBytes);
  for (const Type type : {Type::f16, Type::bf16, Type::e4m3}) {
    const Unpacker unpack(type);
    std::array<RowsOfA, 2> a{};
    std::array<std::array<ColumnsOfB, 8>, 2> b{};
    const std::array<MatrixLines, 2> at = {MatrixLines{memory[0].at, offsets.data()}, lines_in_register(lines.at)};
    for (std::size_t k = 0; k < 2; ++k) {
      unpack.rows(at[k], 0, 0, a[k]);
      unpack.columns(at[k], b[k].data());
      if (operand_bits(type) != 16) continue;
      unpack.rows_across(at[k], 8, 16, a[k]);
      unpack.columns_across(at[k], b[k].data() + 4);
    }
    CHECK(std::memcmp(&a[0], &a[1], sizeof a[0]) == 0);
    CHECK(std::memcmp(&b[0], &b[1], sizeof b[0]) == 0);
  }
}

TEST_CASE("emulator products: multiply-adds are fused, in the order of k, and may go to the addends' registers in another order") {
  std::mt19937 random(3);
  constexpr std::size_t kMostBlocks = 8, kMostProducts = 3;
  std::array<std::array<u32, kLanes>, 4 * kMostBlocks> registers;
  std::array<s32, registers.size()> before, after;
  std::array<RowsOfA, kMostProducts> a;
  std::array<std::array<ColumnsOfB, kMostBlocks * 8>, kMostProducts> b;
  const auto number = [&] {
    return std::ldexp(static_cast<float>(static_cast<int>(random() % 4096) - 2048), static_cast<int>(random() % 40));
  };
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  do
    for (const std::size_t depth : {4u, 8u, 16u, 32u})
      for (const bool adds : {false, true}) {
        const std::size_t blocks = 1 + random() % kMostBlocks, count = 1 + random() % kMostProducts;
        std::array<Product, kMostProducts> products;
        for (std::size_t p = 0; p < count; ++p) {
          for (auto& steps : a[p].at)
            for (auto& row : steps)
              for (float& value : row) value = number();
          for (auto& columns : b[p])
            for (auto& step : columns.at)
              for (float& value : step) value = number();
          // Infinities meet each other, and zeros, now and then.
          if (random() % 4 == 0) a[p](random() % 16, random() % depth) = step_of(b[p].data(), random() % depth)[random() % 8] = HUGE_VALF;
          products[p] = {&a[p], b[p].data()};
        }
        fill(registers, random);
        const auto old = registers;
        for (std::size_t r = 0; r < before.size(); ++r) {
          before[r] = static_cast<s32>(r * sizeof registers[r]);
          after[r] = static_cast<s32>((r / 4 * 4 + order[r % 4]) * sizeof registers[r]);
        }
        multiply_add({products.data(), count}, blocks, depth, reinterpret_cast<std::byte*>(registers.data()),
                     adds ? before.data() : nullptr, after.data());
        for (std::size_t r = 0; r < 4 * blocks; ++r)
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            float sum = adds ? std::bit_cast<float>(old[r][lane]) : 0;
            for (std::size_t p = 0; p < count; ++p)
              for (std::size_t k = 0; k < depth; ++k)
                sum = std::fma(a[p](lane / 4 + r % 4 / 2 * 8, k),
                               step_of(b[p].data() + r / 4 * depth / 4, k)[position_of(lane % 4 * 2 + r % 2)], sum);
            REQUIRE(registers[r / 4 * 4 + order[r % 4]][lane] == (sum == sum ? std::bit_cast<u32>(sum) : 0x7fffffffu));
          }
        REQUIRE(std::equal(registers.begin() + static_cast<std::ptrdiff_t>(4 * blocks), registers.end(),
                           old.begin() + static_cast<std::ptrdiff_t>(4 * blocks)));
      }
  while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace tilewright::rt::emulator
