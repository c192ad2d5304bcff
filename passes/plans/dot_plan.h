// A dot without matrix instructions. Each thread has the rows and columns of its part of the accumulator in registers, or both operands
// pass through shared memory, from which it loads them.
#pragma once
#include <cstdint>

#include "tileir/ir.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::passes {

/// The path of an operand, [M, K] or [K, N], perhaps with a batch axis first.
struct DotOperand {
  ir::LinearLayout source;  // the layout of the operand, without free registers
  /// The elements that a thread loads in one step of the loop over K: its rows or columns, and the lower bits of K, in registers.
  ir::LinearLayout reader;
  ir::SharedPlan shared;
  /// From the number of a step, the bits of K above its own, to the part that is XORed to an offset in elements.
  ir::F2Matrix step_offset;
  std::int64_t offset = 0;  // in the dot's scratch, in bytes
};

struct DotPlan {
  bool in_registers = false;  // nothing passes through shared memory: of a and b only the sources are planned
  DotOperand a, b;
  int log2_step = 0;   // elements of K in a step
  int log2_steps = 0;  // number of steps
  std::int64_t bytes = 0;

  /// Flat index of the element of a and b that element (batch, m, n) of the accumulator needs at k within a step.
  std::uint32_t index_in_a(std::uint32_t flat, std::uint32_t k) const;
  std::uint32_t index_in_b(std::uint32_t flat, std::uint32_t k) const;
  int log2_m = 0, log2_n = 0, log2_k = 0;
};

/// The layout of operand i of a dot, 0 or 1, of this type, under which each thread has what it multiplies for its part of the accumulator.
ir::LinearLayout dot_operand_layout(const ir::LinearLayout& accumulator, ir::Type operand, int i);

/// Requires: a dot of a distributed function.
DotPlan plan_dot(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
