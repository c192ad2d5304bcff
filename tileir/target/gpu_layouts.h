// Layouts for ops that require a certain layout on GPUs: dot, scan and sort.
#pragma once
#include <vector>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The layout of the accumulator of a dot that is computed by fused multiply-adds. Threads hold blocks of up to 8 by 8 of the last two
/// axes, so each element that a thread reads is used 8 times; lanes and warps are spread over both axes. Requires: at least two axes.
LinearLayout dot_layout(std::vector<int> log2_extents, int log2_warps, int log2_lanes = 5);

/// The layout in which an op runs, given the layout of its operand: the same layout if the op can run in it, else one that suits the op.
/// Scan and sort need their axis in order; other ops run in any layout.
LinearLayout working_layout(const Function&, OpId, const LinearLayout& operand, int log2_warps);

}  // namespace tilewright::ir
