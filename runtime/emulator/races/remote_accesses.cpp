// The order between the end of a block and remote accesses to its shared memory.
#include "runtime/emulator/races/remote_accesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/emulator/races/happens_before.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {
namespace {

const Block& block_of(const Block& owner, u64 epoch) { return *owner.cluster->blocks[low_of(epoch) >> kRankShift]; }

/// Whether a thread of the block has acquired the access.
bool is_known(const Block& block, u64 epoch) {
  const u32 number = block_of(block, epoch).number;
  return std::any_of(block.warps.begin(), block.warps.end(), [&](const Warp& warp) {
    const VectorClock* const clock = warp.clocks.by_block.find(number);
    return clock != nullptr && clock->knows(agent_of(epoch), time_of(epoch), lane_of(epoch));
  });
}

void report_unordered(const Block& owner, const RemoteAccess& access) {
  report(*access.warp, access.warp->kernel->code[access.instruction], DiagnosticKind::exited_block, access.lane, [&] {
    return fmt::format(
        "the block of rank {} may end before this access to its shared memory by {} of the block of rank {}: expected that one of its "
        "threads waits for it, as at the cluster's barrier",
        owner.rank, agent_name(agent_of(access.epoch)), block_of(owner, access.epoch).rank);
  });
}

}  // namespace

void remember_remote(RemoteAccesses& accesses, const Accessor& by, int lane, u64 phase) {
  const u64 key = u64{by.owner->rank} << 32 | static_cast<u64>(by.agent) << 8 | static_cast<u64>(lane);
  accesses[key] = {by.warp, by.instruction->index, lane, with_lane(shared_epoch(by), static_cast<u32>(lane)), phase};
}

void check_remote_accesses(Block& ended) {
  for (const auto& [key, access] : ended.remote_accesses)
    if (!is_known(ended, access.epoch)) report_unordered(ended, access);
  for (const auto& [offset, barrier] : ended.mbarriers)
    for (const auto& [key, access] : barrier->remote_operations)
      if (access.phase >= barrier->awaited && !is_known(ended, access.epoch)) report_unordered(ended, access);
}

}  // namespace tilewright::rt::emulator
