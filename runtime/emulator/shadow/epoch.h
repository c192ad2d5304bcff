// Epochs: which lane of which agent made an access, and at which of the agent's times (FastTrack: c@t), in 64 bits.
#pragma once
#include <bit>

#include "runtime/emulator/shadow/vector_clock.h"

namespace tilewright::rt::emulator {

// 0: no access.
//   time 24 | lane 6 | strong 1 | list or wide 1 | agent 8 | low 24: the rank of the agent's block in its cluster and the instruction
//   (shared memory, 4 and 20) or the ticket of the agent's block (global memory)
inline constexpr u32 kLow = (1u << 24) - 1;
inline constexpr int kRankShift = 20, kLaneShift = 34;
inline constexpr u32 kInstruction = (1u << kRankShift) - 1;
inline constexpr u64 kMany = u64{1} << 32;  // of shared memory: the low 32 bits number a list of SharedShadow instead
inline constexpr u64 kWide = u64{1} << 32;  // of global memory: the access is strong for other blocks too
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
/// Of an epoch of lane 0.
inline u64 with_lane(u64 epoch, u32 lane) { return epoch | u64{lane} << kLaneShift; }
inline u64 as_several_lanes(u64 epoch) { return (epoch & ~kLane) | u64{kSeveralLanes} << kLaneShift; }

/// The epoch of a read, which also covers an earlier read by the same agent.
inline u64 merged(u64 mine, u64 before) {
  const bool same_time = time_of(mine) == time_of(before);
  if (same_time && lane_of(mine) != lane_of(before)) mine = as_several_lanes(mine);
  if (same_time) mine &= before | ~(kStrong | kWide);
  return mine;
}

// The lane field of an epoch of a whole sector may name a group: 2, 4, 8, 16 or 32 lanes that have equal parts of the sector, in order. The
// first of n lanes is a multiple of n. A group's number is that of a node in a binary tree of all such groups, with the root for all lanes.
// Example: lanes 8 to 15 -> kLaneGroups + (32 + 8) / 8.
inline constexpr u32 kLaneGroups = kSeveralLanes;
inline constexpr u32 lane_group(u32 first, u32 count) { return kLaneGroups + (kLanes + first) / count; }
/// The epoch of granule k of a sector with `count` granules.
inline u64 epoch_of_granule(u64 epoch, int k, int count) {
  if (lane_of(epoch) <= kSeveralLanes) return epoch;
  const u32 node = lane_of(epoch) - kLaneGroups, groups = std::bit_floor(node), lanes = kLanes / groups;
  const u32 lane = (node - groups) * lanes + static_cast<u32>(k) * lanes / static_cast<u32>(count);
  return with_lane(epoch & ~kLane, lane);
}

}  // namespace tilewright::rt::emulator
