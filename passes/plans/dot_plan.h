// How a dot without matrix instructions goes about it: both operands pass through shared memory, from which each thread reads the rows and
// columns of its part of the accumulator. What the size of the scratch and code generation agree on.
#pragma once
#include <cstdint>

#include "tileir/ir.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::passes {

/// The way of an operand, [M, K] or [K, N], perhaps with a batch axis before.
struct DotOperand {
  ir::LinearLayout source;  // as the operand lies, without free registers
  /// What a thread reads for one step of the loop over K: its rows or columns, and the lower bits of K, in registers.
  ir::LinearLayout reader;
  ir::SharedPlan shared;
  /// Where the bits of K above the step's go: to what is XORed to an offset in elements.
  ir::F2Matrix step_offset;
  std::int64_t offset = 0;  // in the dot's scratch, bytes
};

struct DotPlan {
  DotOperand a, b;
  int log2_step = 0;   // elements of K a step: 2^log2_step
  int log2_steps = 0;  // how many steps
  std::int64_t bytes = 0;

  /// Flat index of what element (batch, m, n) of the accumulator takes from a and b at k within a step.
  std::uint32_t index_in_a(std::uint32_t flat, std::uint32_t k) const;
  std::uint32_t index_in_b(std::uint32_t flat, std::uint32_t k) const;
  int log2_m = 0, log2_n = 0, log2_k = 0;
};

/// Requires: a dot of a distributed function.
DotPlan plan_dot(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
