// Matrix products on numbers: operands are unpacked to rows and columns, and sums are in the order of the accumulators.
#pragma once
#include <cstddef>
#include <span>

#include "runtime/emulator/matrix/product_steps.h"
#include "runtime/emulator/ptx/types.h"

namespace tilewright::rt::emulator {

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

/// As multiply_add, for fp8 by wgmma: products are exact, but before they are added all terms, the register's value among them, are cut off to
/// 13 bits behind the leading bit of the greatest one. The DeepSeek-V3 report says so (section 3.5.2); PTX does
/// not, and it has not been measured here.
void multiply_add_briefly(const Product&, std::size_t blocks, std::size_t depth, std::byte* registers, const s32* before, const s32* after);

/// As multiply_add, for operands that are both in registers and have elements of 16 bits, in the layout of mma.m16n8k8 and m16n8k16: the
/// registers of a alternate between rows 0 to 7 and 8 to 15; each one has 8 steps along k.
ProductSteps::Fragments multiply_fragments(Type);

}  // namespace tilewright::rt::emulator
