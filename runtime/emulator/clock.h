// Vector clocks: what an agent of a block (a warp, or an asynchronous engine of one) knows to have happened before.
#pragma once
#include <algorithm>
#include <array>
#include <memory>

#include "runtime/emulator/scalar_types.h"

namespace tilewright::rt::emulator {

inline constexpr int kMaxWarps = 32;
// Agents of a block: its warps, then the cp.async engine of each warp.
inline constexpr int kAgents = 2 * kMaxWarps;
inline constexpr int async_agent(int warp) { return kMaxWarps + warp; }

/// For each agent of one block, up to which of its epochs all accesses are known to be done.
struct Clock {
  std::array<u32, kAgents> at{};

  void join(const Clock& other) {
    for (int i = 0; i < kAgents; ++i) at[i] = std::max(at[i], other.at[i]);
  }
  bool covers(const Clock& other) const {
    bool all = true;
    for (int i = 0; i < kAgents; ++i) all &= at[i] >= other.at[i];
    return all;
  }
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
  void join(const KnownBlocks&);

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

  NodeRef root_;
  u32 levels_ = 0;  // above the leaves
};

}  // namespace tilewright::rt::emulator
