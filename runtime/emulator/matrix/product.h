// Matrix products on numbers: operands are unpacked to rows and columns, and sums are in the order of the accumulators.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "runtime/emulator/matrix/core_matrix.h"
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

inline constexpr std::size_t kRows = 16, kColumns = 8, kMostDepth = 32;
inline constexpr std::size_t kBlockRegisters = kRows * kColumns / kLanes;  // of accumulators, for 8 columns

struct RowsOfA {
  static constexpr std::size_t kSteps = 4;  // along k, in one row

  alignas(64) float at[kMostDepth / kSteps][kRows][kSteps];
  float& operator()(std::size_t row, std::size_t k) { return at[k / kSteps][row][k % kSteps]; }
  float operator()(std::size_t row, std::size_t k) const { return at[k / kSteps][row][k % kSteps]; }
};
/// Four steps of 8 columns, [k][place_of(column)]: of two accumulator registers, the first holds the even columns in all lanes and the
/// second the odd columns. All steps of the first 8 columns come first, then those of the next 8.
struct ColumnsOfB {
  static constexpr std::size_t kSteps = 4;

  alignas(64) float at[kSteps][kColumns];
};
inline const float* step_of(const ColumnsOfB* b, std::size_t k) { return b[k / ColumnsOfB::kSteps].at[k % ColumnsOfB::kSteps]; }
inline float* step_of(ColumnsOfB* b, std::size_t k) { return const_cast<float*>(step_of(static_cast<const ColumnsOfB*>(b), k)); }
inline constexpr std::size_t place_of(std::size_t column) { return column / 2 + column % 2 * (kColumns / 2); }

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
  /// See multiply_add().
  using MultiplyAdd = void (*)(std::span<const Product>, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                               const s32* after);
  /// See multiply_fragments().
  using Fragments = void (*)(std::byte* registers, const s32* a, const s32* b, std::size_t depth, const s32* before, const s32* after);
  Unpack f16, bf16;
  MultiplyAdd multiply_add = nullptr;
  Fragments f16_fragments = nullptr, bf16_fragments = nullptr;
};

/// Converts elements to numbers, for all types except f64.
class Unpacker {
 public:
  explicit Unpacker(Type);

  void rows(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) const { unpack_.rows(lines, row, k, a); }
  void columns(MatrixLines lines, ColumnsOfB* b) const { unpack_.columns(lines, b); }
  /// As above, for lines that follow each other along k, where each line has consecutive 16-bit elements across k.
  void rows_across(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) const { unpack_.rows_across(lines, row, k, a); }
  void columns_across(MatrixLines lines, ColumnsOfB* b) const { unpack_.columns_across(lines, b); }

 private:
  ProductSteps::Unpack unpack_;
};

/// Registers of all lanes, as f32: four for every 8 columns (there are `blocks` groups of 8), in which element e of lane l is in row l / 4
/// + 8 (e / 2) and column 2 (l % 4) + e % 2. To the values of the registers at `before` (null: zeros), the products of one depth are added
/// one after another in the order of k, by fused multiply-adds that round to nearest: PTX requires at least single precision, and no order.
/// A NaN is PTX's canonical one. The registers at `after` may be those at `before` in another order, within each group of four.
void multiply_add(std::span<const Product>, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                  const s32* after);

/// As multiply_add, for operands that are both in registers and have elements of 16 bits, in the layout of mma.m16n8k8 and m16n8k16: the
/// registers of a alternate between rows 0 to 7 and 8 to 15; each one has 8 steps along k.
ProductSteps::Fragments multiply_fragments(Type);

}  // namespace tilewright::rt::emulator
