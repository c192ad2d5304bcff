// The operands of matrix products as numbers, and the steps of a product, which each kind of processor implements.
#pragma once
#include <cstddef>
#include <span>

#include "runtime/emulator/matrix/core_matrix.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

inline constexpr std::size_t kRows = 16, kColumns = 8, kMostDepth = 32;
inline constexpr std::size_t kBlockRegisters = kRows * kColumns / kLanes;  // of accumulators, for 8 columns

struct RowsOfA {
  static constexpr std::size_t kSteps = 4;  // along k, in one row

  alignas(64) float at[kMostDepth / kSteps][kRows][kSteps];
  float& operator()(std::size_t row, std::size_t k) { return at[k / kSteps][row][k % kSteps]; }
  float operator()(std::size_t row, std::size_t k) const { return at[k / kSteps][row][k % kSteps]; }
};
/// Four steps of 8 columns, [k][position_of(column)]: of two accumulator registers, the first holds the even columns in all lanes and the
/// second the odd columns. All steps of the first 8 columns come first, then those of the next 8.
struct ColumnsOfB {
  static constexpr std::size_t kSteps = 4;

  alignas(64) float at[kSteps][kColumns];
};
inline const float* step_of(const ColumnsOfB* b, std::size_t k) { return b[k / ColumnsOfB::kSteps].at[k % ColumnsOfB::kSteps]; }
inline float* step_of(ColumnsOfB* b, std::size_t k) { return const_cast<float*>(step_of(static_cast<const ColumnsOfB*>(b), k)); }
inline constexpr std::size_t position_of(std::size_t column) { return column / 2 + column % 2 * (kColumns / 2); }

/// The 8 lines of a core matrix, at arbitrary offsets.
struct MatrixLines {
  const std::byte* base;
  const u32* offsets;

  const std::byte* operator[](std::size_t line) const { return base + offsets[line]; }
};
/// The number of 16-bit elements of a row or column in one register of all lanes.
inline constexpr std::size_t kStepsInRegister = 8;
/// The lines of a register of all lanes.
inline MatrixLines lines_in_register(const std::byte* lines) {
  static constexpr u32 kOffsets[CoreMatrix::kLines] = {0, 16, 32, 48, 64, 80, 96, 112};
  return {lines, kOffsets};
}

/// A product of 16 rows and some columns, which is added to accumulators.
struct Product {
  const RowsOfA* a;
  const ColumnsOfB* b;
};

/// The implementation of each step for one kind of processor.
struct ProductSteps {
  /// Each line has elements of one row of a, from k on, or of one column of b.
  using Rows = void (*)(MatrixLines, std::size_t row, std::size_t k, RowsOfA&);
  using Columns = void (*)(MatrixLines, ColumnsOfB*);
  struct Unpack {
    Rows rows = nullptr, rows_across = nullptr;
    Columns columns = nullptr, columns_across = nullptr;
  };
  /// See multiply_add() in product.h.
  using MultiplyAdd = void (*)(std::span<const Product>, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                               const s32* after);
  /// See multiply_fragments() in product.h.
  using Fragments = void (*)(std::byte* registers, const s32* a, const s32* b, std::size_t depth, const s32* before, const s32* after);
  Unpack f16, bf16;
  MultiplyAdd multiply_add = nullptr;
  Fragments f16_fragments = nullptr, bf16_fragments = nullptr;
};

}  // namespace tilewright::rt::emulator
