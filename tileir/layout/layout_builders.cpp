// Blocked and replicated layouts.
#include "tileir/layout/layout_builders.h"

#include <algorithm>

#include "tileir/diagnostics.h"

namespace tilewright::ir {

namespace {

/// Assigns the bits of a tile's axes to hardware dimensions, from the lowest bit of each axis up, in the order in which the axes vary.
class AxisBits {
 public:
  AxisBits(LinearLayout& layout, std::span<const int> order) : layout_(layout), order_(order), used_(order.size()) {
    TW_CHECK(static_cast<int>(order.size()) == layout.rank(), "the order names every axis");
  }

  int left(int axis) const { return layout_.log2_extents()[static_cast<std::size_t>(axis)] - used_[static_cast<std::size_t>(axis)]; }
  std::span<const int> order() const { return order_; }

  /// Maps the next `bits` bits of the axis to d. Beyond the axis' extent lanes and warps get zero bases (copies), registers get none.
  void take(HardwareDim d, int axis, int bits) {
    for (; bits > 0; --bits) {
      if (left(axis) > 0)
        layout_.add_basis(d, 1u << (layout_.axis_shift(axis) + used_[static_cast<std::size_t>(axis)]++));
      else if (d != HardwareDim::reg)
        layout_.add_basis(d, 0);
    }
  }

  /// Maps `bits` bits of the axes that are left to d; if there are too few, zero bases follow.
  void fill(HardwareDim d, int bits) {
    for (const int axis : order_) {
      const int here = std::min(bits, left(axis));
      take(d, axis, here);
      bits -= here;
    }
    for (; bits > 0; --bits) layout_.add_basis(d, 0);
  }

  void repeat_in_registers() {
    for (const int axis : order_) take(HardwareDim::reg, axis, left(axis));
  }

 private:
  LinearLayout& layout_;
  std::span<const int> order_;
  std::vector<int> used_;
};

}  // namespace

LinearLayout blocked_layout(std::vector<int> log2_extents, const BlockedLayout& b) {
  LinearLayout layout(std::move(log2_extents));
  AxisBits bits(layout, b.order);
  for (const int a : b.order) bits.take(HardwareDim::reg, a, b.log2_per_thread[static_cast<std::size_t>(a)]);
  for (const int a : b.order) bits.take(HardwareDim::lane, a, b.log2_lanes[static_cast<std::size_t>(a)]);
  for (const int a : b.order) bits.take(HardwareDim::warp, a, b.log2_warps[static_cast<std::size_t>(a)]);
  bits.repeat_in_registers();
  return layout;
}

LinearLayout blocked_layout(std::vector<int> log2_extents, int log2_vector, std::span<const int> order, int log2_warps, int log2_lanes) {
  LinearLayout layout(std::move(log2_extents));
  AxisBits bits(layout, order);
  if (!order.empty()) bits.take(HardwareDim::reg, order[0], log2_vector);
  bits.fill(HardwareDim::lane, log2_lanes);
  bits.fill(HardwareDim::warp, log2_warps);
  bits.repeat_in_registers();
  return layout;
}

LinearLayout replicated_layout(std::vector<int> log2_extents, int log2_warps, int log2_lanes) {
  LinearLayout layout(std::move(log2_extents));
  for (int i = 0; i < layout.log2_elements(); ++i) layout.add_basis(HardwareDim::reg, 1u << i);
  for (int i = 0; i < log2_lanes; ++i) layout.add_basis(HardwareDim::lane, 0);
  for (int i = 0; i < log2_warps; ++i) layout.add_basis(HardwareDim::warp, 0);
  return layout;
}

}  // namespace tilewright::ir
