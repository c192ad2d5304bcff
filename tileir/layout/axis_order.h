// The axis order of a layout: which bits of an axis are register bits, which are lane bits and which are warp bits. Scan and sort need it.
#pragma once
#include <optional>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// An axis in order: its bits, from the lowest up, are register bits, then lane bits (ascending), then warp bits, then register bits again.
/// So a thread holds runs of 2^low_registers.size() neighbours; consecutive lanes, then consecutive warps, hold consecutive runs.
///
/// Example: 64 elements, register [1], lane [2, 4, 8, 16], warp [32] -> low_registers {0}, lanes {0, 1, 2, 3}, warps {0}.
struct AxisOrder {
  std::vector<int> low_registers, lanes, warps, high_registers;  // for each bit of the axis: which bit of that hardware dimension it is
};

/// None if the axis is not in order, or if a basis changes the coordinate along this axis and another one.
std::optional<AxisOrder> axis_order(const LinearLayout&, int axis);

/// A layout in which the axis is in order, with no high registers. The bits of the other axes go to warps and lanes first: the fewer bits
/// of this axis are lane or warp bits, the fewer values threads exchange.
LinearLayout layout_along(std::vector<int> log2_extents, int axis, int log2_warps, int log2_lanes = 5);

}  // namespace tilewright::ir
