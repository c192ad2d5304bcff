// Vector clocks: for each agent of a block, the time up to which all of its accesses happened before.
#pragma once
#include <algorithm>
#include <array>
#include <bit>

#include "runtime/emulator/ptx/types.h"
#include "runtime/emulator/shadow/agents.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// The times of one block's agents. An agent's time advances when it publishes its accesses (FastTrack: increments its clock at a release).
/// Lanes of a warp are threads, which publish separately: for a warp or the engine of its cp.async, later times may be known for only some
/// lanes. If lanes published at different times, the latest time counts for all of them, which may hide a race but never invents one.
class VectorClock {
 public:
  static constexpr u32 kSeveralLanes = kLanes;  // a value of an epoch's lane field: two or more lanes
  u32 operator[](int agent) const { return at_[static_cast<std::size_t>(agent)]; }
  /// Raises an agent's time; never lowers it.
  void raise(int agent, u32 time) {
    u32& known = at_[static_cast<std::size_t>(agent)];
    known = std::max(known, time);
    used_ |= 1u << agent / kMaxWarps;
  }
  /// Raises the time for these lanes only. Requires: an agent with lanes.
  void raise(int agent, u32 time, Mask lanes);
  /// Whether the clock covers accesses of the agent's lane at that time.
  bool knows(int agent, u32 time, u32 lane) const {
    return time <= (*this)[agent] || (with_parts_ != 0 && agent < kAgentsWithLanes && knows_part(agent, time, lane));
  }
  /// Whether the clock covers accesses of the agent, or of at least one of its lanes, at that time.
  bool knows_some_lane(int agent, u32 time) const {
    return time <= (*this)[agent] || (agent < kAgentsWithLanes && time <= parts_[static_cast<std::size_t>(agent)].time);
  }
  void join(const VectorClock&);
  bool covers(const VectorClock&) const;
  void clear();
  bool operator==(const VectorClock& other) const { return at_ == other.at_ && parts_ == other.parts_; }

 private:
  struct Part {
    u32 time = 0;
    Mask lanes = 0;
    bool operator==(const Part&) const = default;
  };
  bool knows_part(int agent, u32 time, u32 lane) const;

  std::array<u32, kAgents> at_{};
  u32 used_ = 0;        // groups of kMaxWarps agents that have a time, one bit each: most kernels use few
  u64 with_parts_ = 0;  // agents whose single lanes have published
  std::array<Part, kAgentsWithLanes> parts_{};
};

}  // namespace tilewright::rt::emulator
