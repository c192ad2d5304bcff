// Finds out whether an axis is in order in a layout, and builds layouts in which it is.
#include "tileir/layout/axis_order.h"

#include <algorithm>
#include <bit>

namespace tilewright::ir {

std::optional<AxisOrder> axis_order(const LinearLayout& l, int axis) {
  struct HardwareBit {
    HardwareDim dim = HardwareDim::offset;
    int bit = 0;
  };
  const int shift = l.axis_shift(axis);
  const std::uint32_t mask = l.axis_mask(axis);
  std::vector<HardwareBit> of_bit(static_cast<std::size_t>(l.log2_extents()[static_cast<std::size_t>(axis)]));
  for (const HardwareDim d : {HardwareDim::reg, HardwareDim::lane, HardwareDim::warp, HardwareDim::block}) {
    for (int i = 0; i < l.bits(d); ++i) {
      const std::uint32_t basis = l.bases(d)[static_cast<std::size_t>(i)];
      if ((basis & mask) == 0) continue;
      if (!std::has_single_bit(basis) || d == HardwareDim::block) return std::nullopt;
      HardwareBit& bit = of_bit[static_cast<std::size_t>(std::countr_zero(basis) - shift)];
      if (bit.dim != HardwareDim::offset) return std::nullopt;
      bit = {d, i};
    }
  }
  AxisOrder result;
  std::size_t at = 0;
  const auto take = [&](HardwareDim d, std::vector<int>& bits) {
    for (; at < of_bit.size() && of_bit[at].dim == d; ++at) bits.push_back(of_bit[at].bit);
  };
  take(HardwareDim::reg, result.low_registers);
  take(HardwareDim::lane, result.lanes);
  take(HardwareDim::warp, result.warps);
  take(HardwareDim::reg, result.high_registers);
  const bool in_order = at == of_bit.size() && std::is_sorted(result.lanes.begin(), result.lanes.end());
  return in_order ? std::optional(std::move(result)) : std::nullopt;
}

LinearLayout layout_along(std::vector<int> log2_extents, int axis, int log2_warps, int log2_lanes) {
  constexpr int kLeastInRegisters = 2;  // runs of four elements: cheap to scan in one thread, and accesses of 16 bytes
  LinearLayout l(std::move(log2_extents));
  const int along = l.log2_extents()[static_cast<std::size_t>(axis)], shift = l.axis_shift(axis);
  std::vector<std::uint32_t> across;
  for (int bit = 0; bit < l.log2_elements(); ++bit)
    if ((1u << bit & l.axis_mask(axis)) == 0) across.push_back(1u << bit);
  const auto take_across = [&](HardwareDim d, int bits) {
    for (; bits > 0 && !across.empty(); --bits) {
      l.add_basis(d, across.back());
      across.pop_back();
    }
  };
  take_across(HardwareDim::warp, log2_warps);
  take_across(HardwareDim::lane, log2_lanes);
  const int spread = std::max(along - kLeastInRegisters, 0);
  const int lanes = std::min(log2_lanes - l.bits(HardwareDim::lane), spread);
  const int warps = std::min(log2_warps - l.bits(HardwareDim::warp), spread - lanes), registers = along - lanes - warps;
  int bit = shift;
  for (int i = 0; i < registers; ++i) l.add_basis(HardwareDim::reg, 1u << bit++);
  for (int i = 0; i < lanes; ++i) l.add_basis(HardwareDim::lane, 1u << bit++);
  for (int i = 0; i < warps; ++i) l.add_basis(HardwareDim::warp, 1u << bit++);
  take_across(HardwareDim::reg, static_cast<int>(across.size()));
  while (l.bits(HardwareDim::lane) < log2_lanes) l.add_basis(HardwareDim::lane, 0);
  while (l.bits(HardwareDim::warp) < log2_warps) l.add_basis(HardwareDim::warp, 0);
  return l;
}

}  // namespace tilewright::ir
