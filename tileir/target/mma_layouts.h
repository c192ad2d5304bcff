// Matrix instructions, and the layouts of the tiles that they multiply.
#pragma once
#include <span>
#include <string_view>

#include "tileir/ir.h"

namespace tilewright::ir {

/// A row of matrix_instructions.def.
struct MatrixInstruction {
  std::string_view name;
  int sm, ptx_version;
  Element factors, sums;
  int log2_m, log2_n, log2_k;
  std::string_view ptx;
};
/// All rows; an op's attribute `instruction` is the index of its row.
std::span<const MatrixInstruction> matrix_instructions();
/// Requires: mma.
const MatrixInstruction& matrix_instruction(const Function&, OpId);

/// The layouts of a thread's elements in the operands and the accumulator of mma.
struct MmaLayouts {
  LinearLayout a, b, acc;
};

/// Requires: mma. Each layout is a fragment of one instruction, as the PTX ISA defines it, repeated over further registers (the last axis
/// first), then over warps (the last axis first). A tile that is smaller than a fragment has no registers, and copies in lanes, for what is
/// outside of it.
///
/// The fragments of m16n8k16 of f16, where lane 4 g + t holds
///   a    row g, k 2 t and 2 t + 1; the same of row g + 8; both at k + 8     register [[0, 1], [8, 0], [0, 8]], lane [[0, 2], [0, 4], [1,
///   0], ...] b    k 2 t and 2 t + 1 of column g; both at k + 8 acc  row g, columns 2 t and 2 t + 1; the same of row g + 8
MmaLayouts mma_layouts(const Function&, OpId);

}  // namespace tilewright::ir
