// The order of memory operations: whether an earlier access, which a shadow cell records as an epoch, happened before the current access.
// Follows the PTX ISA's "Memory Consistency Model" with vector clocks, as FastTrack and ThreadSanitizer do.
#pragma once
#include <string>

#include "runtime/emulator/shadow/epoch.h"
#include "runtime/emulator/state/block.h"

namespace tilewright::rt::emulator {

/// The agent of `owner` that makes an access, at one of its times, for an instruction of a warp.
struct Accessor {
  Warp* warp;
  const Instruction* instruction;
  int agent;
  u32 time;
  const Block* owner;
  const AcquireClocks* clocks;                // clocks of the warp
  const ProxyClocks* async;                   // the warp's, for an access through the asynchronous proxy; null: a generic access
  bool is_on_mbarrier = false;                // the access is an operation on an mbarrier object
  bool ends_mbarrier = false;                 // the access is mbarrier.inval
  const AcquireClocks* tensor_map = nullptr;  // for a read of a tensor map through its own proxy: the clocks of the map's proxy fence
};

inline Accessor accessor_of(Warp& warp, const Instruction& instruction) {
  return {&warp, &instruction, warp.index, warp.time, warp.block, &warp.clocks, nullptr};
}
/// An access of an engine at this time of the engine.
inline Accessor engine_of(Warp& warp, const Instruction& instruction, const Block& owner, int agent, u32 time) {
  return {&warp, &instruction, agent, time, &owner, &warp.clocks, is_async_proxy(agent) ? &warp.async : nullptr};
}

/// The epoch of the accessor's lane 0, for shared memory.
inline u64 shared_epoch(const Accessor& by) {
  return make_epoch(by.time, by.agent, by.instruction->is_strong, by.owner->rank << kRankShift | (by.instruction->index & kInstruction));
}
/// The epoch of the accessor's lane 0, for global memory.
inline u64 global_epoch(const Accessor& by) {
  return make_epoch(by.time, by.agent, by.instruction->is_strong, by.owner->ticket) | (by.instruction->whole_gpu ? kWide : 0);
}

/// "Causality Order": whether an access by an agent of block `number` happened before the access of this lane. `fenced`: the clocks of the
/// proxy fence that must come between the two; null if no fence is needed.
bool happens_before(const Accessor&, int lane, u64 epoch, u32 number, const AcquireClocks* fenced);
/// Whether all accesses of the agent at that time happened before the accesses of all lanes.
bool time_happens_before(const Accessor&, u64 epoch, u32 number, const AcquireClocks* fenced);
/// "Proxies": whether an access sees the earlier one only after a proxy fence, which is so for a generic write before an access through the
/// asynchronous proxy. After a generic read no fence is needed, since the value has already been read.
inline bool needs_proxy_fence(const Accessor& by, u64 epoch, bool is_write) {
  return by.async != nullptr && is_write && !is_async_proxy(agent_of(epoch));
}
/// "Morally Strong Operations", apart from scopes: both accesses are strong and go through the same proxy.
inline bool are_morally_strong(const Accessor& by, u64 epoch) {
  return (epoch & kStrong) && by.instruction->is_strong && is_async_proxy(agent_of(epoch)) == is_async_proxy(by.agent);
}
/// Whether, at that time, some lane of the other access's warp happened before, or it is the same warp: then only the order between lanes
/// of one warp may be missing.
bool happens_before_some_lane(const Accessor&, u64 epoch, u32 number);

/// "warp 3", or the name of an engine and its warp.
std::string agent_name(int agent);
inline constexpr const char* kNoProxyFence = ", because no proxy fence comes between them";
inline constexpr const char* kNoTensorMapFence =
    ", because no proxy fence comes between them that acquires this map: expected fence.proxy.tensormap::generic.acquire of its address";
inline constexpr const char* kNoLaneOrder =
    ", by the text of the PTX ISA alone: the two lanes met in a collective operation, which formally orders no memory";
/// Reports that `what` is not ordered after `earlier` ("write" or "read"), which `other` did at the instruction `at`; `why` follows.
void report_race(const Accessor&, int lane, const char* what, const char* earlier, const std::string& where, const std::string& other,
                 u32 at, const char* why, bool is_remark = false);

}  // namespace tilewright::rt::emulator
