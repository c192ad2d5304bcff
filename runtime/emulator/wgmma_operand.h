// An operand of wgmma in shared memory.
#pragma once
#include <array>

#include "runtime/emulator/core_matrix.h"
#include "runtime/emulator/matrix_descriptor.h"
#include "runtime/emulator/matrix_product.h"
#include "runtime/emulator/shared_spans.h"

namespace tilewright::rt::emulator {

/// Found and checked as a whole, then read core matrix by core matrix. Rows are those of a, or the columns of b.
class SharedOperand {
 public:
  enum class Which { a, b };
  /// b is the same for all warps of the warpgroup. `transposed`: what follows each other in memory are rows, and not steps along k.
  SharedOperand(Which, Warp&, const Instruction&, u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed);

  /// 8 rows from the first one plus `row` on, and a half of the instruction's k. Lines are rows; transposed, they are steps along k.
  CoreMatrix core(std::size_t row, std::size_t half) const;

 private:
  static constexpr u32 kNowhere = ~0u;
  static constexpr std::size_t kMostLines = 512;  // 256 rows of 32 bytes

  /// `end`: of the last line.
  void check(u64 descriptor, u64 end);
  void check_races(const Accessor&, u64 descriptor);

  Which which_;
  Warp& warp_;
  const Instruction& i_;
  bool transposed_;
  std::size_t rows_, count_ = 0;
  std::array<SharedSpan, kMostLines> lines_;
};

}  // namespace tilewright::rt::emulator
