// Operands of wgmma in shared memory.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/emulator/matrix/operand_lines.h"
#include "runtime/emulator/matrix/product.h"
#include "runtime/emulator/races/engine_checks.h"

namespace tilewright::rt::emulator {

/// An operand of wgmma in shared memory: located and checked as a whole, then unpacked. Rows are those of a, or the columns of b.
class SharedOperand {
 public:
  /// `transposed`: consecutive elements in memory are rows, not steps along k.
  SharedOperand(const Accessor&, u64 descriptor, std::size_t first_row, std::size_t rows, bool transposed);

  /// `half_of_k`: the number of elements in a line.
  void unpack(const Unpacker&, std::size_t half_of_k, RowsOfA&) const;
  void unpack(const Unpacker&, std::size_t half_of_k, std::span<ColumnsOfB>) const;
  /// None if the read must be checked again when another warp does it.
  const std::optional<EngineRead>& as_read() const { return read_; }

 private:
  /// Reports each line outside of the shared memory, and reads it as poison (NaN).
  void check_lines();

  const Accessor& by_;
  Block& block_;
  const OperandLines& at_;
  u32 page_;  // the page of the lines
  std::size_t rows_;
  bool transposed_;
  std::optional<EngineRead> read_;
  const std::byte* base_;           // the base from which at_ measures the lines
  std::vector<std::byte> outside_;  // a copy of all lines, if some are out of bounds
};

/// b as numbers for a wgmma that the warp is about to issue; the first warp of the warpgroup packs them.
const ColumnsOfB* packed_b(Warp&, const Instruction&, const Unpacker&, u64 descriptor, std::size_t columns, std::size_t half_of_k,
                           bool transposed);

}  // namespace tilewright::rt::emulator
