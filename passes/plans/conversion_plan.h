// Plans how a tile changes its layout: by shuffles within warps, or through shared memory.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::passes {

/// A conversion within warps, by shuffles. In round j every thread receives one element from another lane: register `source_register` ^
/// before(sender). Register r of the destination is the element that arrives in round r ^ after(receiver). The matrices take the number of
/// the thread, lane bits first.
///
/// Example: two lanes hold [a b] and [c d]; the result is [a c] and [b d]. Each lane sends the element that it does not keep:
/// before = after = lane; round 0 needs no shuffle, round 1 is a shuffle with lane ^ 1.
struct WarpRoute {
  struct Round {
    std::uint32_t source_register = 0, source_lane = 0;  // the lane: XOR lane(receiver)
  };
  std::vector<Round> rounds;  // one for each register of the destination
  ir::F2Matrix before, lane, after;
  bool keeps_lanes = false;  // lane(receiver) is the receiver: rounds with source_lane 0 need no shuffle

  bool is_renaming() const;  // no shuffles and no selects
};

/// Larger tiles pass through shared memory in slices; every GPU has this much (sm_75: 64 KiB).
inline constexpr int kLog2MostSharedBytes = 16;

struct Conversion {
  /// None: the tile goes through shared memory.
  std::optional<WarpRoute> route;
  /// Whether some warp needs elements of another warp.
  bool crosses_warps = false;
};

/// Plans a conversion in which element i of the result is element i ^ flip of the source, by flat index. Requires: no free registers in
/// either layout; `flip` within the extents; the source surjective.
Conversion plan_conversion(const ir::LinearLayout& from, const ir::LinearLayout& to, int element_bytes, std::uint32_t flip = 0);

}  // namespace tilewright::passes
