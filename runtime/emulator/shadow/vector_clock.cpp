// Joins and compares vector clocks, and handles the times of single lanes.
#include "runtime/emulator/shadow/vector_clock.h"

#include "runtime/emulator/simd/cpu_dispatch.h"

namespace tilewright::rt::emulator {
namespace {

static_assert(kAgents % kMaxWarps == 0);

/// Calls f(first agent) for each group of kMaxWarps agents that has its bit set.
template <class F>
void each_group(u32 groups, F f) {
  for (; groups != 0; groups &= groups - 1) f(static_cast<std::size_t>(std::countr_zero(groups)) * kMaxWarps);
}

void raise_group(u32* to, const u32* from) {
  for (std::size_t i = 0; i < kMaxWarps; ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

void VectorClock::raise(int agent, u32 time, Mask lanes) {
  const auto a = static_cast<std::size_t>(agent);
  if (time <= at_[a]) return;
  Part& part = parts_[a];
  if (part.time <= at_[a]) part = {};
  part.time = std::max(part.time, time);
  part.lanes |= lanes;
  with_parts_ |= u64{1} << agent;
  if (part.lanes != kAllLanes) return;
  raise(agent, part.time);
  part = {};
}

bool VectorClock::knows_part(int agent, u32 time, u32 lane) const {
  const Part& part = parts_[static_cast<std::size_t>(agent)];
  if (time > part.time) return false;
  // An access by several lanes is not covered by an epoch that only one of them published.
  return lane < kSeveralLanes ? (part.lanes >> lane & 1) != 0 : (part.lanes & (part.lanes - 1)) != 0;
}

void VectorClock::join(const VectorClock& other) {
  each_group(other.used_, [&](std::size_t first) { call_dispatched<raise_group>(at_.data() + first, other.at_.data() + first); });
  used_ |= other.used_;
  for (u64 rest = other.with_parts_; rest != 0; rest &= rest - 1) {
    const int agent = std::countr_zero(rest);
    if (const Part& part = other.parts_[static_cast<std::size_t>(agent)]; part.lanes != 0) raise(agent, part.time, part.lanes);
  }
}

bool VectorClock::covers(const VectorClock& other) const {
  bool all = true;
  each_group(other.used_, [&](std::size_t first) {
    for (std::size_t i = first; i < first + kMaxWarps; ++i) all &= at_[i] >= other.at_[i];
  });
  for (std::size_t a = 0; a < kAgentsWithLanes && other.with_parts_ != 0; ++a) {
    const Part &part = other.parts_[a], &own = parts_[a];
    if (part.time > at_[a] && (part.time > own.time || (part.lanes & ~own.lanes) != 0)) return false;
  }
  return all;
}

void VectorClock::clear() {
  each_group(used_, [&](std::size_t first) { std::fill_n(at_.data() + first, kMaxWarps, 0); });
  if (with_parts_ != 0) parts_ = {};
  used_ = 0;
  with_parts_ = 0;
}

}  // namespace tilewright::rt::emulator
