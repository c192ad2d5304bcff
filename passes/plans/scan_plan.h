// How a scan goes between warps: planned once for its scratch and its code.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/ir.h"
#include "tileir/layout/axis_order.h"

namespace tilewright::passes {

struct ScanPlan {
  ir::AxisOrder places;
  std::vector<int> across;  // register bits that are not of the axis
  /// The totals of warps: a tile of one axis, whose lowest bits are the warp along the scan's axis, then the chunk, then the row. Its
  /// registers are those of `places.high_registers`, then `across`. Each lane along the axis seems to hold a total; the last one does.
  ir::LinearLayout totals;
  /// The same, where each thread has the totals of all warps of its rows: lowest register bits first those of the warps.
  ir::LinearLayout wanted;
};

/// Requires: a layout without free registers whose axis lies in order.
ScanPlan plan_scan(const ir::LinearLayout&, int axis);

/// Of the totals of an operand of this type: 0 unless the axis crosses warps. Operands follow each other.
std::int64_t total_bytes(const ScanPlan&, const ir::Type& element);

}  // namespace tilewright::passes
