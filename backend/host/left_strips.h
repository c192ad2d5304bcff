// The rows of a left factor that a register tile reads at even distances.
#pragma once
#include "backend/host/emitter.h"
#include "backend/host/factor_rows.h"

namespace tilewright::backend::host {

/// A strip is as many rows of the left factor as a register tile has, for each segment of a block of a contraction: rows in memory, if they
/// are evenly spaced there, and no mask cuts them; otherwise a copy. Rows of a copy that are not live have any value.
class LeftStrips {
 public:
  LeftStrips(Emitter&, std::int64_t segments, std::int64_t rows, std::int64_t row_bytes);
  void release();

  /// Finds the strip of segment `number`. `addresses`: of its rows, of which `live` are live (null: all); `valid_bytes`: of each row, before
  /// zeros begin (null: all).
  void find(Value* number, Value* addresses, Value* live, Value* valid_bytes);
  EvenRows rows(Value* number);

 private:
  void copy(Value* to, Value* addresses, Value* live, Value* valid_bytes);
  Value* field(Value* number, std::uint64_t i);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const std::int64_t rows_, row_bytes_;
  const Emitter::ScratchRange table_, copies_;
};

}  // namespace tilewright::backend::host
