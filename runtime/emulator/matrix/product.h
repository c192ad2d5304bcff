// Matrix products in numbers: operands unpacked into rows and columns, and multiply-adds in the accumulators' own order.
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "runtime/emulator/matrix/core_matrix.h"
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

inline constexpr std::size_t kRows = 16, kColumns = 8, kMostDepth = 32;
inline constexpr std::size_t kBlockRegisters = kRows * kColumns / kLanes;  // of accumulators, 8 columns

struct RowsOfA {
  static constexpr std::size_t kSteps = 4;  // along k, of one row

  alignas(64) float at[kMostDepth / kSteps][kRows][kSteps];
  float& operator()(std::size_t row, std::size_t k) { return at[k / kSteps][row][k % kSteps]; }
  float operator()(std::size_t row, std::size_t k) const { return at[k / kSteps][row][k % kSteps]; }
};
/// Four steps of 8 columns, [k][place_of(column)]: of two registers of accumulators, the first holds the even columns of all lanes and the
/// second the odd ones. All steps of the first 8 columns follow each other, then those of the next.
struct ColumnsOfB {
  static constexpr std::size_t kSteps = 4;

  alignas(64) float at[kSteps][kColumns];
};
inline const float* step_of(const ColumnsOfB* b, std::size_t k) { return b[k / ColumnsOfB::kSteps].at[k % ColumnsOfB::kSteps]; }
inline float* step_of(ColumnsOfB* b, std::size_t k) { return const_cast<float*>(step_of(static_cast<const ColumnsOfB*>(b), k)); }
inline constexpr std::size_t place_of(std::size_t column) { return column / 2 + column % 2 * (kColumns / 2); }

/// The 8 lines of a core matrix, at any offsets.
struct MatrixLines {
  const std::byte* base;
  const u32* offsets;

  const std::byte* operator[](std::size_t line) const { return base + offsets[line]; }
};
/// Elements of 16 bits of a row or column that a register of all lanes holds.
inline constexpr std::size_t kStepsInRegister = 8;
/// As a register of all lanes holds them.
inline MatrixLines lines_in_register(const std::byte* lines) {
  static constexpr u32 kOffsets[CoreMatrix::kLines] = {0, 16, 32, 48, 64, 80, 96, 112};
  return {lines, kOffsets};
}

/// A product of 16 rows and some columns, to be added to accumulators.
struct Product {
  const RowsOfA* a;
  const ColumnsOfB* b;
};

/// What one processor does each step by.
struct ProductSteps {
  /// Each line has the same row of a and follows it from k on, or the same column of b from where it is to go.
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

/// From elements to numbers, of all types but f64.
class Unpacker {
 public:
  explicit Unpacker(Type);

  void rows(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) const { unpack_.rows(lines, row, k, a); }
  void columns(MatrixLines lines, ColumnsOfB* b) const { unpack_.columns(lines, b); }
  /// The same where the lines follow each other along k, each with elements of 16 bits that follow each other across it.
  void rows_across(MatrixLines lines, std::size_t row, std::size_t k, RowsOfA& a) const { unpack_.rows_across(lines, row, k, a); }
  void columns_across(MatrixLines lines, ColumnsOfB* b) const { unpack_.columns_across(lines, b); }

 private:
  ProductSteps::Unpack unpack_;
};

/// Registers of all lanes, as f32: of every 8 columns, of which there are `blocks`, four, in which element e of lane l is in row
/// l / 4 + 8 (e / 2) and column 2 (l % 4) + e % 2. To what the registers at `before` hold (null: zeros) products of one depth are added one
/// after the other in the order of k, each number by a fused multiply-add that rounds to nearest: PTX asks for single precision or more,
/// and for no order. A NaN is PTX's. The registers at `after` may be those at `before` in another order, among the four.
void multiply_add(std::span<const Product>, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before,
                  const s32* after);

/// The same where both operands are in registers of all lanes and have elements of 16 bits, as mma.m16n8k8 and m16n8k16 hold them: of a,
/// registers alternate between rows 0 to 7 and 8 to 15; each has 8 steps along k.
ProductSteps::Fragments multiply_fragments(Type);

}  // namespace tilewright::rt::emulator
