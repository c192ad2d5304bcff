// The order in which a reduce combines the elements of a distributed tile. Lowering and interpreter both follow it.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// One step of a butterfly: the values at hardware coordinates h and h ^ (reg, lane, warp) are combined, and both then hold the result.
/// They are elements i and i ^ axis of the axis or, in later steps, partial results of groups of elements.
struct ReduceStep {
  std::uint32_t reg = 0, lane = 0, warp = 0;
  std::uint32_t axis = 0;
  /// Index i is the later one of the two if an odd number of these bits are set in it. Earlier steps do not change that parity.
  std::uint32_t later = 0;

  bool crosses_warps() const { return warp != 0; }
};

/// One step for each bit of the axis. If the region is commutative, steps go through registers, then lanes, then warps, each from the
/// highest bit of the axis down, so that registers become free early and halves are added to halves. Otherwise they go from the lowest bit
/// of the axis up, so that each step combines neighbours and keeps their order.
/// Requires: a surjective layout.
/// Example: 8 elements, four lanes of two registers, register [1], lane [2, 4]. The steps are 1 (register), 4, 2 (lanes) if commutative,
/// else 1, 2, 4.
std::vector<ReduceStep> reduce_steps(const LinearLayout&, int axis, bool commutative);

}  // namespace tilewright::ir
