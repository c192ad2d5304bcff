// The order between accesses, and how to say that it is missing.
#include "runtime/emulator/access_stamp.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilewright::rt::emulator {

Precedence precedence(const Accessor& by, int lane, u64 stamp, u32 number, const View* fenced) {
  const int agent = agent_of(stamp);
  const bool is_here = number == by.warp->block->number;
  const auto known_to = [&](const View& view) {
    const Clock* clock = is_here ? &view.clock : view.foreign.find(number);
    if (clock == nullptr) return Precedence::none;
    if (clock_of(stamp) <= (*clock)[agent]) return Precedence::of_all;
    return clock->knows(agent, clock_of(stamp), lane_of(stamp)) ? Precedence::of_lane : Precedence::none;
  };
  const bool is_own = is_here && agent == by.warp->index && (lane_of(stamp) == static_cast<u32>(lane) || is_matrix_agent(by.agent));
  Precedence known = known_to(*by.view);
  if (known == Precedence::none && is_own) known = Precedence::of_lane;
  return fenced == nullptr ? known : std::min(known, known_to(*fenced));
}

std::string agent_name(int agent) {
  if (agent < kMaxWarps) return fmt::format("warp {}", agent);
  if (agent < 2 * kMaxWarps) return fmt::format("an asynchronous copy of warp {}", agent % kMaxWarps);
  if (agent < matrix_agent(0)) return fmt::format("a bulk copy of warp {}", agent % kMaxWarps);
  if (agent < barrier_agent(0))
    return fmt::format("a matrix operation of warps {} to {}", 4 * (agent - matrix_agent(0)), 4 * (agent - matrix_agent(0)) + 3);
  return "a bulk copy that an mbarrier waits for";
}

void report_race(const Accessor& by, int lane, const char* what, const char* earlier, const std::string& where, const std::string& who,
                 u32 at, const char* why) {
  report(*by.warp, *by.instruction, FindingKind::race, lane, [&] {
    return fmt::format("{} {} is not ordered after the {} by {} at {}{}", what, where, earlier, who, place_of(*by.warp, at), why);
  });
}

}  // namespace tilewright::rt::emulator
