// Chooses layouts for dots without tensor cores, for scans and for sorts.
#include "tileir/target/gpu_layouts.h"

#include <algorithm>

#include "tileir/layout/axis_order.h"
#include "tileir/layout/layout_builders.h"
#include "tileir/layout_rules.h"
#include "tileir/op_kind.h"

namespace tilewright::ir {

namespace {

/// Alternates lane bits that select columns with lane bits that do not: then lanes 0 and 1, or 0 and 2, of each four read the same rows of
/// a or columns of b, and one access reads vectors of both for 16 lanes (shared_wavefronts).
void interleave_lanes(LinearLayout& l, int columns) {
  std::vector<std::uint32_t> by_column, by_row, lanes;
  for (const std::uint32_t basis : l.bases(HardwareDim::lane)) ((basis & l.axis_mask(columns)) != 0 ? by_column : by_row).push_back(basis);
  for (std::size_t i = 0; i < std::max(by_column.size(), by_row.size()); ++i)
    for (const auto* bases : {&by_column, &by_row})
      if (i < bases->size()) lanes.push_back((*bases)[i]);
  l.set_bases(HardwareDim::lane, std::move(lanes));
}

}  // namespace

LinearLayout dot_layout(std::vector<int> log2_extents, int log2_warps, int log2_lanes) {
  constexpr int kLog2Block = 3;
  const int rank = static_cast<int>(log2_extents.size()), rows = rank - 2, columns = rank - 1;
  int elements = 0;
  for (int extent : log2_extents) elements += extent;
  const int each = std::max(0, elements - log2_lanes - log2_warps);
  BlockedLayout b;
  b.log2_per_thread.assign(rank, 0), b.log2_lanes.assign(rank, 0), b.log2_warps.assign(rank, 0);
  for (int a = rank - 1; a >= 0; --a) b.order.push_back(a);
  b.log2_per_thread[columns] = std::min({(each + 1) / 2, kLog2Block, log2_extents[columns]});
  b.log2_per_thread[rows] = std::min({each - b.log2_per_thread[columns], kLog2Block, log2_extents[rows]});
  // About equally many lanes along the two axes, within the extents; the remaining lanes and warps go to the other axes.
  const auto left = [&](int a) { return log2_extents[a] - b.log2_per_thread[a] - b.log2_lanes[a] - b.log2_warps[a]; };
  const auto spread = [&](std::vector<int>& over, int count) {
    for (int i = 0; i < count; ++i) {
      int best = columns;
      for (int a = rank - 1; a >= 0; --a)
        if (left(a) > 0 && (left(best) <= 0 || over[a] < over[best])) best = a;
      ++over[best];
    }
  };
  spread(b.log2_lanes, log2_lanes);
  spread(b.log2_warps, log2_warps);
  LinearLayout l = blocked_layout(std::move(log2_extents), b);
  interleave_lanes(l, columns);
  return l;
}

LinearLayout working_layout(const Function& f, OpId id, const LinearLayout& operand, int log2_warps) {
  const std::optional<int> axis = axis_in_order(f, id);
  if (!axis) return operand;
  const std::optional<AxisOrder> order = axis_order(operand, *axis);
  // A scan continues sequentially over the values of the high register bits; a few such steps are cheaper than a conversion.
  constexpr std::size_t kMostHighRegisters = 2;
  if (order && order->high_registers.size() <= (f.kind(id) == OpKind::scan_ ? kMostHighRegisters : 0)) return operand;
  return layout_along(operand.log2_extents(), *axis, log2_warps);
}

}  // namespace tilewright::ir
