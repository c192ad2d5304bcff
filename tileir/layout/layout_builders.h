// Constructors of the layouts that compilers of tiles know by name.
#pragma once
#include <span>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// A blocked layout: along each axis, log2 of how many neighbours a thread holds, then how many lanes, then how many warps lie side by
/// side; order[0] is the axis that varies fastest in each of the three. What the tile is larger by, threads repeat (in registers, in the
/// given order); what it is smaller by, lanes and warps hold copies of.
struct BlockedLayout {
  std::vector<int> log2_per_thread, log2_lanes, log2_warps;  // by axis
  std::vector<int> order;
};
LinearLayout blocked_layout(std::vector<int> log2_extents, const BlockedLayout&);

/// The blocked layout whose threads hold 2^log2_vector neighbours along order[0], lanes and then warps filling the axes in order; at
/// most as much of an axis as its extent allows, so lanes go on to the next axis. 2^log2_lanes lanes (5), 2^log2_warps warps.
LinearLayout blocked_layout(std::vector<int> log2_extents, int log2_vector, std::span<const int> order, int log2_warps, int log2_lanes = 5);

/// Every register, lane and warp bit free: each thread holds the one element, or all of them in registers.
LinearLayout replicated_layout(std::vector<int> log2_extents, int log2_warps, int log2_lanes = 5);

}  // namespace tilewright::ir
