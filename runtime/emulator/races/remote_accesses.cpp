// The order between the end of a block and what other blocks do to its shared memory.
#include "runtime/emulator/races/remote_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/emulator/races/access_stamp.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {
namespace {

const Block& block_of(const Block& owner, u64 stamp) { return *owner.cluster->blocks[low_of(stamp) >> kRankShift]; }

/// Whether a thread of the block knows that the access is over.
bool is_known(const Block& block, u64 stamp) {
  const u32 number = block_of(block, stamp).number;
  return std::any_of(block.warps.begin(), block.warps.end(), [&](const Warp& warp) {
    const Clock* const clock = warp.view.foreign.find(number);
    return clock != nullptr && clock->knows(agent_of(stamp), clock_of(stamp), lane_of(stamp));
  });
}

void report_unordered(const Block& owner, const RemoteAccess& access) {
  report(*access.warp, access.warp->kernel->code[access.instruction], FindingKind::exited_block, access.lane, [&] {
    return fmt::format(
        "the block of rank {} may end before this access to its shared memory by {} of the block of rank {}: expected that one of its "
        "threads waits for it, as at the cluster's barrier",
        owner.rank, agent_name(agent_of(access.stamp)), block_of(owner, access.stamp).rank);
  });
}

}  // namespace

void remember_remote(RemoteAccesses& accesses, const Accessor& by, int lane, u64 phase) {
  const u64 key = u64{by.owner->rank} << 32 | static_cast<u64>(by.agent) << 8 | static_cast<u64>(lane);
  accesses[key] = {by.warp, by.instruction->index, lane, make_shared_stamp(by, lane), phase};
}

void check_remote_accesses(Block& ended) {
  for (const auto& [key, access] : ended.remote_accesses)
    if (!is_known(ended, access.stamp)) report_unordered(ended, access);
  for (const auto& [offset, barrier] : ended.mbarriers)
    for (const auto& [key, access] : barrier->remote_operations)
      if (access.phase >= barrier->awaited && !is_known(ended, access.stamp)) report_unordered(ended, access);
}

}  // namespace tilewright::rt::emulator
