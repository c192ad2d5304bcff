// Matrix products in numbers: operands unpacked into rows and columns, and the sums of products, as vector instructions.
#pragma once
#include <cstddef>

#include "runtime/emulator/core_matrix.h"
#include "runtime/emulator/ptx_types.h"

namespace tilewright::rt::emulator {

inline constexpr std::size_t kRows = 16, kColumns = 8, kMostDepth = 32;

struct RowsOfA {
  alignas(64) double at[kRows][kMostDepth];
};
/// Columns stand in the order of accumulators: of two registers, the first holds the even columns of all lanes and the second the odd ones.
struct ColumnsOfB {
  alignas(64) double at[kMostDepth][kColumns];  // [k][place_of(column)]
};
struct ProductSums {
  alignas(64) double at[kRows][kColumns];  // [row][place_of(column)]
};
inline constexpr std::size_t place_of(std::size_t column) { return column / 2 + column % 2 * (kColumns / 2); }

/// From the elements of 8 lines, in registers or shared memory, to numbers in their rows and columns.
class Unpacker {
 public:
  explicit Unpacker(Type);

  /// Each line has the same row of a and follows it from `k` on, or the same column of b. Lines are those of a core matrix, and twice as
  /// long for f64.
  void rows(const std::byte* lines, std::size_t row, std::size_t k, RowsOfA&) const;
  void columns(const std::byte* lines, std::size_t k, ColumnsOfB&) const;
  /// The same where the lines follow each other along k, each with elements of 16 bits that follow each other across it.
  void rows_across(const CoreMatrix&, std::size_t row, std::size_t k, RowsOfA&) const;
  void columns_across(const CoreMatrix&, std::size_t k, ColumnsOfB&) const;

 private:
  /// Converts 8 lines, each to the `row_step` numbers after those of the one before it.
  void (*convert_)(const std::byte* lines, double* to, std::size_t row_step);
  std::size_t elements_;  // of a line
};

/// The sums along k, in its order. `is_exact`: no product of two elements is rounded, so that fused multiply-adds give the same.
/// Requires: 8 or 16 rows.
void sum_products(const RowsOfA&, const ColumnsOfB&, std::size_t rows, std::size_t depth, bool is_exact, ProductSums&);

/// Adds the sums to accumulators in f32, 2 or 4 registers of all lanes (null: to zeros), and writes the results to as many, which may be
/// the same in any order.
void add_sums(const ProductSums&, std::size_t registers, const std::byte* const* before, std::byte* const* after);

}  // namespace tilewright::rt::emulator
