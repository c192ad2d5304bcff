// Builds blocked, dot and replicated layouts.
#pragma once
#include <span>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// A blocked layout (Triton's BlockedEncoding): for each axis, log2 of the number of neighbours that a thread holds, then of lanes and of
/// warps along the axis; order[0] is the axis that varies fastest in each of the three. If the tile is larger, further registers cover it,
/// in the same order; if it is smaller, lanes and warps hold copies.
struct BlockedLayout {
  std::vector<int> log2_per_thread, log2_lanes, log2_warps;  // by axis
  std::vector<int> order;
};
LinearLayout blocked_layout(std::vector<int> log2_extents, const BlockedLayout&);

/// The blocked layout whose threads hold 2^log2_vector neighbours along order[0]; lanes and then warps fill that axis up to its extent,
/// then the next axis of `order`. There are 2^log2_lanes lanes (5) and 2^log2_warps warps.
///
/// Example: [8, 16], vector 2 (log2), order {1, 0}, 0 warps (log2) -> register [1, 2], lane [4, 8, 16, 32, 64].
LinearLayout blocked_layout(std::vector<int> log2_extents, int log2_vector, std::span<const int> order, int log2_warps, int log2_lanes = 5);

/// Every lane and warp bit is free: each thread holds all elements, in registers.
LinearLayout replicated_layout(std::vector<int> log2_extents, int log2_warps, int log2_lanes = 5);

}  // namespace tilewright::ir
