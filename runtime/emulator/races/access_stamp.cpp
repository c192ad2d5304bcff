// The order between accesses, and how to say that it is missing.
#include "runtime/emulator/races/access_stamp.h"

#include <fmt/format.h>

#include <bit>

#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {

namespace {

const Clock* clock_in(const Accessor& by, u32 number, const View& view) {
  return number == by.warp->block->number ? &view.clock : view.foreign.find(number);
}

bool is_known(const Accessor& by, u64 stamp, u32 number, const View& view) {
  const Clock* clock = clock_in(by, number, view);
  return clock != nullptr && clock->knows(agent_of(stamp), clock_of(stamp), lane_of(stamp));
}

bool is_epoch_known(const Accessor& by, u64 stamp, u32 number, const View& view) {
  const Clock* clock = clock_in(by, number, view);
  return clock != nullptr && knows_epoch(*clock, stamp);
}

}  // namespace

bool is_ordered(const Accessor& by, int lane, u64 stamp, u32 number, const View* fenced) {
  const bool is_own = agent_of(stamp) == by.warp->index && number == by.warp->block->number &&
                      (lane_of(stamp) == static_cast<u32>(lane) || is_matrix_agent(by.agent));
  return (is_own || is_known(by, stamp, number, *by.view)) && (fenced == nullptr || is_known(by, stamp, number, *fenced));
}

bool is_epoch_ordered(const Accessor& by, u64 stamp, u32 number, const View* fenced) {
  return is_epoch_known(by, stamp, number, *by.view) && (fenced == nullptr || is_epoch_known(by, stamp, number, *fenced));
}

u64 of_granule(u64 stamp, int k, int count) {
  if (lane_of(stamp) <= kSeveralLanes) return stamp;
  const u32 node = lane_of(stamp) - kGroups, groups = std::bit_floor(node), lanes = kLanes / groups;
  const u32 lane = (node - groups) * lanes + static_cast<u32>(k) * lanes / static_cast<u32>(count);
  return (stamp & ~kLane) | u64{lane} << 34;
}

std::string agent_name(int agent) {
  if (agent < kMaxWarps) return fmt::format("warp {}", agent);
  if (agent < 2 * kMaxWarps) return fmt::format("an asynchronous copy of warp {}", agent % kMaxWarps);
  if (agent < matrix_agent(0)) return fmt::format("a bulk copy of warp {}", agent % kMaxWarps);
  if (agent < barrier_agent(0))
    return fmt::format("a matrix operation of warps {} to {}", 4 * (agent - matrix_agent(0)), 4 * (agent - matrix_agent(0)) + 3);
  return "a bulk copy that an mbarrier waits for";
}

bool is_ordered_after_some_lane(const Accessor& by, u64 stamp, u32 number) {
  if (agent_of(stamp) == by.warp->index && number == by.warp->block->number) return true;
  const Clock* const clock = clock_in(by, number, *by.view);
  return clock != nullptr && clock->knows_some_lane(agent_of(stamp), clock_of(stamp));
}

void report_race(const Accessor& by, int lane, const char* what, const char* earlier, const std::string& where, const std::string& who,
                 u32 at, const char* why, bool is_remark) {
  const auto text = [&] {
    return fmt::format("{} {} is not ordered after the {} by {} at {}{}", what, where, earlier, who, place_of(*by.warp, at), why);
  };
  if (is_remark)
    remark(*by.warp, *by.instruction, FindingKind::race, lane, text);
  else
    report(*by.warp, *by.instruction, FindingKind::race, lane, text);
}

}  // namespace tilewright::rt::emulator
