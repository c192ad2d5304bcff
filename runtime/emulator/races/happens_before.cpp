// Looks up epochs in vector clocks, and writes the text of race reports.
#include "runtime/emulator/races/happens_before.h"

#include <fmt/format.h>

#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {

namespace {

const VectorClock* clock_of(const Accessor& by, u32 number, const AcquireClocks& clocks) {
  return number == by.warp->block->number ? &clocks.clock : clocks.by_block.find(number);
}

bool covers(const Accessor& by, u64 epoch, u32 number, const AcquireClocks& clocks) {
  const VectorClock* clock = clock_of(by, number, clocks);
  return clock != nullptr && clock->knows(agent_of(epoch), time_of(epoch), lane_of(epoch));
}

bool covers_time(const Accessor& by, u64 epoch, u32 number, const AcquireClocks& clocks) {
  const VectorClock* clock = clock_of(by, number, clocks);
  return clock != nullptr && time_of(epoch) <= (*clock)[agent_of(epoch)];
}

}  // namespace

bool happens_before(const Accessor& by, int lane, u64 epoch, u32 number, const AcquireClocks* fenced) {
  // "Program Order" is per thread: lanes of one warp are as independent of each other as different warps. But warps issue wgmma in program
  // order.
  const bool is_own = agent_of(epoch) == by.warp->index && number == by.warp->block->number &&
                      (lane_of(epoch) == static_cast<u32>(lane) || is_matrix_agent(by.agent));
  return (is_own || covers(by, epoch, number, *by.clocks)) && (fenced == nullptr || covers(by, epoch, number, *fenced));
}

bool time_happens_before(const Accessor& by, u64 epoch, u32 number, const AcquireClocks* fenced) {
  return covers_time(by, epoch, number, *by.clocks) && (fenced == nullptr || covers_time(by, epoch, number, *fenced));
}

bool happens_before_some_lane(const Accessor& by, u64 epoch, u32 number) {
  if (agent_of(epoch) == by.warp->index && number == by.warp->block->number) return true;
  const VectorClock* const clock = clock_of(by, number, *by.clocks);
  return clock != nullptr && clock->knows_some_lane(agent_of(epoch), time_of(epoch));
}

std::string agent_name(int agent) {
  if (agent < kMaxWarps) return fmt::format("warp {}", agent);
  if (agent < 2 * kMaxWarps) return fmt::format("an asynchronous copy of warp {}", agent % kMaxWarps);
  if (agent < matrix_agent(0)) return fmt::format("a bulk copy of warp {}", agent % kMaxWarps);
  if (agent < barrier_agent(0))
    return fmt::format("a matrix operation of warps {} to {}", 4 * (agent - matrix_agent(0)), 4 * (agent - matrix_agent(0)) + 3);
  return "a bulk copy that an mbarrier waits for";
}

void report_race(const Accessor& by, int lane, const char* what, const char* earlier, const std::string& where, const std::string& other,
                 u32 at, const char* why, bool is_remark) {
  const auto text = [&] {
    return fmt::format("{} {} is not ordered after the {} by {} at {}{}", what, where, earlier, other, location_text(*by.warp, at), why);
  };
  if (is_remark)
    remark(*by.warp, *by.instruction, DiagnosticKind::race, lane, text);
  else
    report(*by.warp, *by.instruction, DiagnosticKind::race, lane, text);
}

}  // namespace tilewright::rt::emulator
