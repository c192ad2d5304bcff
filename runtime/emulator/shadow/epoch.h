// Epochs: which lane of which agent made an access, and at which of the agent's times (FastTrack: c@t), in 64 bits.
#pragma once
#include <bit>

#include "runtime/emulator/shadow/vector_clock.h"

namespace tilewright::rt::emulator {

// The value 0 means no access.
//   time 24 | lane 6 | strong 1 | list or wide 1 | agent 8 | low 24: in shared memory the rank of the agent's block in its cluster (4 bits)
//   and the instruction (20 bits); in global memory the ticket of the agent's block
inline constexpr u32 kLow = (1u << 24) - 1;
inline constexpr int kRankShift = 20, kLaneShift = 34;
inline constexpr u32 kInstruction = (1u << kRankShift) - 1;
inline constexpr u64 kMany = u64{1} << 32;  // in shared memory: the low 32 bits are the number of a list in SharedShadow
inline constexpr u64 kWide = u64{1} << 32;  // in global memory: the access is strong for other blocks too
inline constexpr u64 kStrong = u64{1} << 33;
inline constexpr u64 kLane = u64{63} << kLaneShift;
inline constexpr u32 kSeveralLanes = VectorClock::kSeveralLanes;

inline u64 make_epoch(u32 time, int agent, bool is_strong, u32 low) {
  return static_cast<u64>(time & kLow) << 40 | (is_strong ? kStrong : 0) | static_cast<u64>(agent) << 24 | (low & kLow);
}
inline u32 time_of(u64 epoch) { return static_cast<u32>(epoch >> 40); }
inline u32 lane_of(u64 epoch) { return static_cast<u32>(epoch >> kLaneShift) & 63; }
inline int agent_of(u64 epoch) { return static_cast<int>(epoch >> 24) & 255; }
inline u32 low_of(u64 epoch) { return static_cast<u32>(epoch) & kLow; }
inline u32 rank_of(u64 epoch) { return low_of(epoch) >> kRankShift; }
/// Sets the lane in an epoch of lane 0.
inline u64 with_lane(u64 epoch, u32 lane) { return epoch | u64{lane} << kLaneShift; }
inline u64 as_several_lanes(u64 epoch) { return (epoch & ~kLane) | u64{kSeveralLanes} << kLaneShift; }

/// The epoch of a read that also covers an earlier read by the same agent.
inline u64 merged(u64 mine, u64 before) {
  const bool same_time = time_of(mine) == time_of(before);
  if (same_time && lane_of(mine) != lane_of(before)) mine = as_several_lanes(mine);
  if (same_time) mine &= before | ~(kStrong | kWide);
  return mine;
}

// The lane field in the epoch of a whole sector may name a group: 2, 4, 8, 16 or 32 lanes that access equal parts of the sector, in order.
// The first of n lanes is a multiple of n. A group's number is that of a node in the binary tree of all such groups, whose root is the
// group of all lanes. Example: lanes 8 to 15 -> kLaneGroups + (32 + 8) / 8.
inline constexpr u32 kLaneGroups = kSeveralLanes;
inline constexpr u32 lane_group(u32 first, u32 count) { return kLaneGroups + (kLanes + first) / count; }
/// The epoch of granule k in a sector with `count` granules.
inline u64 epoch_of_granule(u64 epoch, int k, int count) {
  if (lane_of(epoch) <= kSeveralLanes) return epoch;
  const u32 node = lane_of(epoch) - kLaneGroups, groups = std::bit_floor(node), lanes = kLanes / groups;
  const u32 lane = (node - groups) * lanes + static_cast<u32>(k) * lanes / static_cast<u32>(count);
  return with_lane(epoch & ~kLane, lane);
}

}  // namespace tilewright::rt::emulator
