// Integer division of many numbers by one scalar that is known only at run time: one division in total, and two products for each number.
//
// For a divisor d of w bits, m = floor((2^w - 1) / d) is at most 1 less than 2^w / d. So q' = floor(x m / 2^w) is the quotient or 1 less,
// for any x < 2^w; the remainder x - q' d tells which. Signed numbers are divided by magnitude. (Granlund and Montgomery, "Division by
// Invariant Integers using Multiplication", choose an m of more bits, so that no correction is needed.)
#pragma once
#include <cstdint>
#include <unordered_map>

#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

class UniformDivision {
 public:
  /// Counts the divisions by each scalar in the function.
  explicit UniformDivision(Emitter&);

  /// Lowers div and rem of integers by one scalar, if there are enough of them. Returns false if nothing was emitted.
  bool emit(OpId);

 private:
  struct Divisor {
    Value *magnitude = nullptr, *inverse = nullptr, *is_zero = nullptr;
    Value* is_negative = nullptr;  // null: never negative
  };
  const Divisor& divisor(ValueId scalar);

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  std::unordered_map<std::uint32_t, int> count_;  // how many numbers are divided, indexed by the divisor's id
  std::unordered_map<const Value*, Divisor> divisors_;
};

}  // namespace tilewright::backend::nvptx
