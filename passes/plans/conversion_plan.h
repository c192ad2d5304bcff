// How a tile gets from one layout to another: planned once, so that its cost, its scratch and its code cannot disagree.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::passes {

/// Elements that stay in their warp. In round j every thread is sent one element by another lane; it comes from register
/// `source_register` ^ before(sender) there, and what came in round r ^ after(receiver) is register r of the destination. A matrix takes
/// the thread's number, lane bits first.
///
/// Example: two lanes hold [a b] and [c d], and want [a c] and [b d]. Each sends the other the one that it does not keep:
/// before = after = lane, round 0 stays, round 1 goes to lane ^ 1.
struct WarpRoute {
  struct Round {
    std::uint32_t source_register = 0, source_lane = 0;  // the lane: XOR lane(receiver)
  };
  std::vector<Round> rounds;  // as many as the destination has registers
  ir::F2Matrix before, lane, after;
  bool keeps_lanes = false;   // lane(receiver) is its own: rounds with source_lane 0 go nowhere

  bool is_renaming() const;   // no selects, and every round stays
};

/// Tiles larger than this go through shared memory piece by piece; every GPU has that much (sm_75: 64 KiB).
inline constexpr int kLog2MostSharedBytes = 16;

struct Conversion {
  /// None: through shared memory.
  std::optional<WarpRoute> route;
  /// Some warp needs what another one holds.
  bool crosses_warps = false;
};

/// `flip`: a flat index that is XORed to that of every element on the way. Both layouts without free registers, of `flip` bits within
/// the extents; the source surjective.
Conversion plan_conversion(const ir::LinearLayout& from, const ir::LinearLayout& to, int element_bytes, std::uint32_t flip = 0);

}  // namespace tilewright::passes
