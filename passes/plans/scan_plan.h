// The order of a scan, and its exchange of totals between warps.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/axis_order.h"

namespace tilewright::passes {

struct ScanPlan {
  ir::AxisOrder order;
  std::vector<int> across;  // register bits that do not belong to the axis
  /// The totals of warps, as a tile of one axis; the lowest bits of its index are the warp along the scan's axis, then the chunk, then the
  /// row. Its register bits are `order.high_registers`, then `across`. In this layout each lane along the axis holds a total, but only the
  /// last lane's is valid.
  ir::LinearLayout totals;
  /// The layout of that tile in which each thread holds the totals of all warps of its rows; the lowest register bits are the warps.
  ir::LinearLayout wanted;
};

/// Requires: a layout without free registers whose axis is in order (tileir/layout/axis_order.h).
ScanPlan plan_scan(const ir::LinearLayout&, int axis);

/// Scratch for the totals of one operand of this type; 0 unless the axis crosses warps. The scratch of a scan is that of its operands, in
/// order.
std::int64_t total_bytes(const ScanPlan&, const ir::Type& element);

}  // namespace tilewright::passes
