// Who accessed a granule of memory last and when, in 64 bits, and whether that comes before an access of now.
#pragma once
#include <string>

#include "runtime/emulator/races/race_check.h"

namespace tilewright::rt::emulator {

// 0 says nobody did.
//   clock 24 | lane 6 | strong 1 | many or wide 1 | agent 8 | low 24: the rank of the agent's block in its cluster and the instruction
//   (shared memory, 4 and 20) or the ticket of the agent's block (global memory)
inline constexpr u32 kLow = (1u << 24) - 1;
inline constexpr int kRankShift = 20;
inline constexpr u32 kInstruction = (1u << kRankShift) - 1;
inline constexpr u64 kMany = u64{1} << 32;  // the low 32 bits number a list in Block::many_reads instead
inline constexpr u64 kWide = u64{1} << 32;  // of global memory: the access is strong for other blocks too
inline constexpr u64 kStrong = u64{1} << 33;
inline constexpr u64 kLane = u64{63} << 34;
inline constexpr u32 kSeveralLanes = Clock::kSeveralLanes;

inline u64 make_stamp(const Accessor& by, int lane, u32 low) {
  return static_cast<u64>(by.epoch & kLow) << 40 | static_cast<u64>(lane) << 34 | (by.instruction->is_strong ? kStrong : 0) |
         static_cast<u64>(by.agent) << 24 | (low & kLow);
}
/// Of shared memory.
inline u64 make_shared_stamp(const Accessor& by, int lane) {
  return make_stamp(by, lane, by.owner->rank << kRankShift | (by.instruction->index & kInstruction));
}
inline u32 clock_of(u64 stamp) { return static_cast<u32>(stamp >> 40); }
inline u32 lane_of(u64 stamp) { return static_cast<u32>(stamp >> 34) & 63; }
inline int agent_of(u64 stamp) { return static_cast<int>(stamp >> 24) & 255; }
inline u32 low_of(u64 stamp) { return static_cast<u32>(stamp) & kLow; }
inline u64 as_several_lanes(u64 stamp) { return (stamp & ~kLane) | u64{kSeveralLanes} << 34; }

// In the place of a lane, of a sector of global memory: 2, 4, 8, 16 or 32 lanes that have equal parts of it, in order. The first of n
// lanes is a multiple of n, and their number the one of a node in a binary tree of all such groups, whose root are all lanes.
inline constexpr u32 kGroups = kSeveralLanes;
inline constexpr u32 group_of_lanes(u32 first, u32 count) { return kGroups + (kLanes + first) / count; }
/// The stamp of granule k of a sector with so many.
u64 of_granule(u64 stamp, int k, int count);

/// The reader's stamp, which covers what the same reader left there before in the same epoch.
inline u64 merged(u64 mine, u64 before) {
  const bool same_epoch = clock_of(mine) == clock_of(before);
  if (same_epoch && lane_of(mine) != lane_of(before)) mine = as_several_lanes(mine);
  if (same_epoch) mine &= before | ~(kStrong | kWide);
  return mine;
}

/// Whether an access by an agent of the block with this number is over before this one. Lanes of one warp are as independent of each
/// other as warps are, but for what they do together; an engine's work is over when it has been waited for. `fenced` is what a write has
/// to be a part of as well; null if nothing.
bool is_ordered(const Accessor&, int lane, u64 stamp, u32 number, const View* fenced);
/// Whether so is all that the agent did in that epoch, before accesses of all lanes.
bool is_epoch_ordered(const Accessor&, u64 stamp, u32 number, const View* fenced);
/// Accesses through the asynchronous proxy do not see generic writes that no proxy fence came after. That they come after generic
/// reads is enough: what has been read stays read.
inline bool needs_proxy_fence(const Accessor& by, u64 stamp, bool is_write) {
  return by.async != nullptr && is_write && !is_async_proxy(agent_of(stamp));
}
/// Whether all of an agent's accesses of an epoch are known to be done.
inline bool knows_epoch(const Clock& clock, u64 stamp) { return clock_of(stamp) <= clock[agent_of(stamp)]; }
/// Operations that are atomic to each other have to go through the same proxy.
inline bool are_atomic(const Accessor& by, u64 stamp) {
  return (stamp & kStrong) && by.instruction->is_strong && is_async_proxy(agent_of(stamp)) == is_async_proxy(by.agent);
}

/// "warp 3", or what the engine does.
std::string agent_name(int agent);
inline constexpr const char* kNoProxyFence = ", because no proxy fence comes between them";
inline constexpr const char* kNoTensorMapFence =
    ", because no proxy fence comes between them that acquires this map: expected fence.proxy.tensormap::generic.acquire of its address";
/// Whether some lane of the other access's warp is known to be done with as much, or it is the same warp: all that is missing then is the
/// order between lanes of one warp.
bool is_ordered_after_some_lane(const Accessor&, u64 stamp, u32 number);
inline constexpr const char* kNoLaneOrder =
    ", by the text of the PTX ISA alone: the two lanes met in a collective operation, which formally orders no memory";
/// Reports that `what` is not ordered after `earlier` ("write" or "read"), which `who` did at the instruction `at`; `why` follows.
void report_race(const Accessor&, int lane, const char* what, const char* earlier, const std::string& where, const std::string& who, u32 at,
                 const char* why, bool is_remark = false);

}  // namespace tilewright::rt::emulator
