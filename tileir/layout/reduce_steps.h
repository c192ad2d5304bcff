// The order in which a reduce combines a distributed tile: what its code and its reference meaning agree on.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// One step: what is held at hardware coordinate h is combined with what is held at h ^ (reg, lane, warp), and both places then hold the
/// outcome. Along the axis these are elements (or, later on, what came of groups of them) i and i ^ axis.
struct ReduceStep {
  std::uint32_t reg = 0, lane = 0, warp = 0;
  std::uint32_t axis = 0;
  /// Index i is the later one of the two if an odd number of these bits are set in it. The steps before do not change that number.
  std::uint32_t later = 0;

  bool crosses_warps() const { return warp != 0; }
};

/// As many steps as the axis has bits. If the region is commutative: within registers, then lanes, then warps, in each from the highest
/// bit down, so that registers are given up early and halves are added to halves. Else from the lowest bit of the axis up, so that each
/// step combines neighbours, whose order is kept.
/// Requires: every element is held somewhere.
///
/// Example: 8 elements, two registers of four lanes, register [1], lane [2, 4]. Commutative: 1 (register), 4, 2 (lanes). Else: 1, 2, 4.
std::vector<ReduceStep> reduce_steps(const LinearLayout&, int axis, bool commutative);

}  // namespace tilewright::ir
