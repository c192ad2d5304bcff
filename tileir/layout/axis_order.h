// Layouts for ops that go along an axis in order: which bits of the axis are in registers, which are lanes and which are warps.
#pragma once
#include <optional>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// An axis that lies in order: its bits, from the lowest up, are register bits, then lane bits (ascending), then warp bits, then register
/// bits again. So a thread holds runs of 2^low_registers.size() neighbours, and the threads of a warp, and its warps, follow each other along the axis.
struct AxisOrder {
  std::vector<int> low_registers, lanes, warps, high_registers;  // which bit of the dimension each bit of the axis is
};

/// None if the axis does not lie in order, or a basis moves along it and across it at once.
std::optional<AxisOrder> axis_order(const LinearLayout&, int axis);

/// A layout in which the axis lies in order, without high registers. What is not along the axis is spread over warps and lanes first:
/// the less of the axis goes across threads, the less they have to tell each other.
LinearLayout layout_along(std::vector<int> log2_extents, int axis, int log2_warps, int log2_lanes = 5);

}  // namespace tilewright::ir
