// The vector loops of matrix products against the same in scalars, bit for bit: random bits of every type, infinities and NaN among them.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/emulator/matrix_elements.h"
#include "runtime/emulator/matrix_product.h"

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
      ColumnsOfB b;
      unpack.rows(lines.at, 8, elements, a);
      unpack.columns(lines.at, elements, b);
      for (std::size_t line = 0; line < 8; ++line)
        for (std::size_t e = 0; e < elements; ++e) {
          REQUIRE(same(a.at[8 + line][elements + e], element(lines, type, line, e)));
          REQUIRE(same(b.at[elements + e][place_of(line)], element(lines, type, line, e)));
        }
      if (operand_bits(type) != 16) continue;
      unpack.rows_across(lines, 8, 8, a);
      unpack.columns_across(lines, 8, b);
      for (std::size_t line = 0; line < 8; ++line)
        for (std::size_t e = 0; e < 8; ++e) {
          REQUIRE(same(a.at[8 + e][8 + line], element(lines, type, line, e)));
          REQUIRE(same(b.at[8 + line][place_of(e)], element(lines, type, line, e)));
        }
    }
  }
}

TEST_CASE("emulator products: sums are added up in the order of k") {
  std::mt19937 random(2);
  RowsOfA a;
  ColumnsOfB b;
  ProductSums sums;
  for (const std::size_t rows : {8u, 16u})
    for (const std::size_t depth : {4u, 8u, 16u, 32u}) {
      // Products of few bits are exact; far apart, they show the order of additions.
      const auto number = [&] { return static_cast<double>(static_cast<int>(random() % 4096) - 2048); };
      for (auto& row : a.at)
        for (double& value : row) value = std::ldexp(number(), static_cast<int>(random() % 120));
      for (auto& row : b.at)
        for (double& value : row) value = number();
      sum_products(a, b, rows, depth, true, sums);
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < kColumns; ++column) {
          double sum = 0;
          for (std::size_t k = 0; k < depth; ++k) sum += a.at[row][k] * b.at[k][column];
          REQUIRE(sums.at[row][column] == sum);
        }
    }
}

TEST_CASE("emulator products: accumulators may be the addends' registers in another order") {
  std::mt19937 random(3);
  using Registers = std::array<std::array<u32, kLanes>, 4>;
  std::array<std::size_t, 4> order{0, 1, 2, 3};
  do
    for (const std::size_t registers : {2u, 4u}) {
      ProductSums sums;
      for (auto& row : sums.at)
        for (double& sum : row) sum = std::ldexp(static_cast<double>(static_cast<int>(random())), -20);
      Registers values;
      fill(values, random);
      const Registers before = values;
      std::array<const std::byte*, 4> from;
      std::array<std::byte*, 4> to;
      for (std::size_t r = 0; r < registers; ++r) {
        from[r] = reinterpret_cast<const std::byte*>(values[r].data());
        to[r] = reinterpret_cast<std::byte*>(values[order[r]].data());
      }
      const auto check_values = [&](bool adds) {
        for (std::size_t r = 0; r < registers; ++r)
          for (std::size_t lane = 0; lane < kLanes; ++lane) {
            const double addend = adds ? std::bit_cast<float>(before[r][lane]) : 0;
            const double sum = sums.at[lane / 4 + r / 2 * 8][place_of(lane % 4 * 2 + r % 2)] + addend;
            REQUIRE(values[order[r]][lane] == bits_of_sum(sum, Type::f32, false));
          }
      };
      add_sums(sums, registers, from.data(), to.data());
      check_values(true);
      add_sums(sums, registers, nullptr, to.data());
      check_values(false);
    }
  while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace tilewright::rt::emulator
