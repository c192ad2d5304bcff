// Vector clocks: what an agent of a block (a warp, or an asynchronous engine of one) knows to have happened before.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>

#include "runtime/emulator/ptx/types.h"
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

inline constexpr int kMaxWarps = 32;
// Agents of a block: its warps, then for each warp the engine of its cp.async and those that read and write for its groups of bulk
// copies, then the matrix engine of each group of four warps, then the engines that complete transactions of each mbarrier.
inline constexpr int kBarrierAgents = 120;
inline constexpr int kAgents = 4 * kMaxWarps + kMaxWarps / 4 + kBarrierAgents;
inline constexpr int async_agent(int warp) { return kMaxWarps + warp; }
inline constexpr int bulk_read_agent(int warp) { return 2 * kMaxWarps + warp; }
inline constexpr int bulk_write_agent(int warp) { return 3 * kMaxWarps + warp; }
inline constexpr int matrix_agent(int warp) { return 4 * kMaxWarps + warp / 4; }
/// Of the mbarrier with this number; the few blocks with more of them may miss a race between two.
inline constexpr int barrier_agent(int number) { return 4 * kMaxWarps + kMaxWarps / 4 + number % kBarrierAgents; }
inline constexpr bool is_matrix_agent(int agent) { return agent >= matrix_agent(0) && agent < barrier_agent(0); }
/// Whether the agent accesses memory through the asynchronous proxy, as all but warps and cp.async do.
inline constexpr bool is_async_proxy(int agent) { return agent >= 2 * kMaxWarps; }

// Agents whose epochs may be known of some lanes alone: warps, and the engines of their cp.async.
inline constexpr int kAgentsWithLanes = 2 * kMaxWarps;

/// For each agent of one block, up to which of its epochs all accesses are known to be done. Of a warp or the engine of its cp.async, later
/// ones may be known that only some of the warp's lanes made: those that told of them, which are threads of their own. Where lanes told at
/// different epochs, it is too much that is known, never too little.
class Clock {
 public:
  static constexpr u32 kSeveralLanes = kLanes;  // in the place of a lane: two of them at least
  u32 operator[](int agent) const { return at_[static_cast<std::size_t>(agent)]; }
  /// Never takes back what was known.
  void raise(int agent, u32 epoch) {
    u32& known = at_[static_cast<std::size_t>(agent)];
    known = std::max(known, epoch);
    used_ |= 1u << agent / kMaxWarps;
  }
  /// Of a warp or the engine of its cp.async, and of these of the warp's lanes alone.
  void raise(int agent, u32 epoch, Mask lanes);
  bool knows(int agent, u32 epoch, u32 lane) const {
    return epoch <= (*this)[agent] || (with_parts_ != 0 && agent < kAgentsWithLanes && knows_part(agent, epoch, lane));
  }
  /// Whether so much is known of the agent itself or of one of its lanes at least.
  bool knows_some_lane(int agent, u32 epoch) const {
    return epoch <= (*this)[agent] || (agent < kAgentsWithLanes && epoch <= parts_[static_cast<std::size_t>(agent)].epoch);
  }
  void join(const Clock& other) {
    raise_all(at_.data(), other.at_.data(), other.used_);
    used_ |= other.used_;
    if (other.with_parts_ != 0) join_parts(other);
  }
  bool covers(const Clock& other) const {
    bool all = true;
    each_step(other.used_, [&](std::size_t first) {
      for (std::size_t i = first; i < first + kMaxWarps; ++i) all &= at_[i] >= other.at_[i];
    });
    return all && (other.with_parts_ == 0 || covers_parts(other));
  }
  /// Knows nothing.
  void clear() {
    each_step(used_, [&](std::size_t first) { std::fill_n(at_.data() + first, kMaxWarps, 0); });
    if (with_parts_ != 0) parts_ = {};
    used_ = 0;
    with_parts_ = 0;
  }
  bool operator==(const Clock& other) const { return at_ == other.at_ && parts_ == other.parts_; }

 private:
  struct Part {
    u32 epoch = 0;
    Mask lanes = 0;
    bool operator==(const Part&) const = default;
  };
  /// Calls f(first agent) for these steps of kMaxWarps agents, a bit each.
  template <class F>
  static void each_step(u32 steps, F f) {
    for (; steps != 0; steps &= steps - 1) f(static_cast<std::size_t>(std::countr_zero(steps)) * kMaxWarps);
  }
  static void raise_all(u32* known, const u32* other, u32 steps);
  bool knows_part(int agent, u32 epoch, u32 lane) const;
  void join_parts(const Clock&);
  bool covers_parts(const Clock&) const;

  std::array<u32, kAgents> at_{};
  u32 used_ = 0;        // steps of agents, the others are 0: most kernels have few engines
  u64 with_parts_ = 0;  // agents of which lanes told of themselves alone
  std::array<Part, kAgentsWithLanes> parts_{};
};

/// What is known of blocks, by their numbers in the launch: an immutable tree whose parts warps share, so that a join costs as much as
/// both sides differ, and nothing where one knows all that the other does.
class KnownBlocks {
 public:
  bool empty() const { return root_ == nullptr; }
  /// Null if nothing is known of the block.
  const Clock* find(u32 block) const;
  /// Requires: the clock covers what was known of the block.
  void learn(u32 block, const Clock&);
  void join(const KnownBlocks& other) {
    if (other.root_ != nullptr && other.root_ != root_) join_tree(other);
  }

 private:
  struct Node;
  using NodeRef = std::shared_ptr<const Node>;
  static constexpr u32 kBits = 3, kWays = 1 << kBits;  // blocks a level of the tree
  struct Node {
    std::array<NodeRef, kWays> below;
    std::unique_ptr<const Clock> clock;  // of a leaf
  };
  static NodeRef join(const NodeRef&, const NodeRef&);
  static NodeRef learn(const NodeRef&, u32 level, u32 block, const Clock&);
  /// Whether there are levels enough for the block.
  bool reaches(u32 block) const;
  /// One more level on top.
  void grow();
  void join_tree(const KnownBlocks&);

  NodeRef root_;
  u32 levels_ = 0;  // above the leaves
};

/// What is known of the agents of one block, and of the others.
struct View {
  Clock clock;
  KnownBlocks foreign;

  void clear() {
    clock.clear();
    foreign = {};
  }
  void join(const View& other) {
    clock.join(other.clock);
    foreign.join(other.foreign);
  }
};

/// The part of AsyncViews that is about other blocks.
struct AsyncBlocks {
  KnownBlocks shared, global;
  std::map<u64, KnownBlocks> maps;

  void join(const AsyncBlocks&);
};

/// What accesses through other proxies may rely on of those through the generic one: what a proxy fence came after. The asynchronous proxy
/// has one fence for each space; that of tensor maps has one for each map, which makes that map alone visible (PTX ISA, "fence.proxy").
struct AsyncViews {
  View shared, global;
  std::map<u64, View> maps;  // by address

  void clear();
  void join(const AsyncViews&);
  AsyncBlocks foreign() const;
  void join_foreign(const AsyncBlocks&);
  /// Calls f(view) for all of them.
  template <class F>
  void each(F f) {
    f(shared);
    f(global);
    for (auto& [address, view] : maps) f(view);
  }
};

}  // namespace tilewright::rt::emulator
