// A dot without matrix instructions. Either each thread has the rows and columns for its part of the accumulator in registers, or both
// operands pass through shared memory, from which threads load them.
#pragma once
#include <cstdint>

#include "tileir/ir.h"
#include "tileir/layout/swizzle.h"

namespace tilewright::passes {

/// The path of an operand, [M, K] or [K, N], possibly with a batch axis first.
struct DotOperand {
  ir::LinearLayout source;  // the layout of the operand, without free registers
  /// The elements that a thread loads in one step of the loop over K: its rows or columns, with the lower bits of K in registers.
  ir::LinearLayout reader;
  ir::SharedPlan shared;
  /// Maps the number of a step, which is the upper bits of K, to a value that is XORed to an offset in elements.
  ir::F2Matrix step_offset;
  std::int64_t offset = 0;  // in bytes, within the dot's scratch
};

struct DotPlan {
  bool in_registers = false;  // nothing passes through shared memory: only the sources of a and b are planned
  DotOperand a, b;
  int log2_step = 0;   // elements of K in a step
  int log2_steps = 0;  // number of steps
  std::int64_t bytes = 0;

  /// The flat index, in a and b, of the element that accumulator element (batch, m, n) needs at k within a step.
  std::uint32_t index_in_a(std::uint32_t flat, std::uint32_t k) const;
  std::uint32_t index_in_b(std::uint32_t flat, std::uint32_t k) const;
  int log2_m = 0, log2_n = 0, log2_k = 0;
};

/// The layout of operand i (0 or 1) of a dot, of this type, in which each thread has the elements that it multiplies.
ir::LinearLayout dot_operand_layout(const ir::LinearLayout& accumulator, ir::Type operand, int i);

/// Requires: a dot of a distributed function.
DotPlan plan_dot(const ir::Function&, ir::OpId);

}  // namespace tilewright::passes
