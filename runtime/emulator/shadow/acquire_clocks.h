// Acquire and release clocks: the vector clocks that a warp has acquired, and those that it releases to others.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/emulator/shadow/vector_clock.h"

namespace tilewright::rt::emulator {

/// Vector clocks of blocks, indexed by their numbers in the launch: an immutable tree whose nodes warps share, so that the cost of a join
/// depends only on the difference between the two sides.
class BlockClocks {
 public:
  bool empty() const { return root_ == nullptr; }
  /// Null if nothing is known about the block.
  const VectorClock* find(u32 block) const;
  /// Requires: the clock covers everything known about the block.
  void assign(u32 block, const VectorClock&);
  void join(const BlockClocks& other) {
    if (other.root_ != nullptr && other.root_ != root_) join_tree(other);
  }

 private:
  struct Node;
  using NodeRef = std::shared_ptr<const Node>;
  static constexpr u32 kBits = 3, kWays = 1 << kBits;  // children of a node
  struct Node {
    std::array<NodeRef, kWays> below;
    std::unique_ptr<const VectorClock> clock;  // in a leaf
  };
  static NodeRef join(const NodeRef&, const NodeRef&);
  static NodeRef assign(const NodeRef&, u32 level, u32 block, const VectorClock&);
  /// Whether the tree has enough levels for the block.
  bool reaches(u32 block) const;
  /// Adds a level at the root.
  void grow();
  void join_tree(const BlockClocks&);

  NodeRef root_;
  u32 levels_ = 0;  // levels above the leaves
};

/// The accesses that a warp, or all that arrived at a barrier, has acquired: all accesses that these clocks cover happened before.
struct AcquireClocks {
  VectorClock clock;     // of the agents of the own block
  BlockClocks by_block;  // of all blocks; for the own block possibly an older clock

  void clear() {
    clock.clear();
    by_block = {};
  }
  void join(const AcquireClocks& other) {
    clock.join(other.clock);
    by_block.join(other.by_block);
  }
};

/// The part of ProxyClocks for other blocks.
struct ProxyBlockClocks {
  BlockClocks shared, global;
  std::map<u64, BlockClocks> maps;

  void join(const ProxyBlockClocks&);
};

/// The accesses that happened before accesses through other proxies: generic accesses that were followed by a proxy fence. The asynchronous
/// proxy has one fence for each state space. The proxy of tensor maps has one for each map, which makes only that map visible (PTX ISA,
/// "Proxies", "fence.proxy").
struct ProxyClocks {
  AcquireClocks shared, global;
  std::map<u64, AcquireClocks> maps;  // indexed by address

  void clear();
  void join(const ProxyClocks&);
  ProxyBlockClocks by_block() const;
  void join_by_block(const ProxyBlockClocks&);
  /// Calls f(clocks) for each of these clocks.
  template <class F>
  void each(F f) {
    f(shared);
    f(global);
    for (auto& [address, clocks] : maps) f(clocks);
  }
};

/// The clocks that a release pattern publishes, by the scope of the acquire pattern: for the whole GPU, or for the releasing block, whose
/// clocks include the former (PTX ISA, "Release and Acquire Patterns").
struct ReleaseClocks {
  BlockClocks for_all, for_block;
  ProxyBlockClocks async;  // the part that accesses through other proxies may rely on

  void join(const ReleaseClocks& other) {
    for_all.join(other.for_all);
    for_block.join(other.for_block);
    async.join(other.async);
  }
};

/// The clocks released through memory locations, indexed by address. Thread-safe.
class Releases {
 public:
  /// Adds to the clocks that warps of `block`, and of others, may acquire at `address`; a plain store replaces them.
  void release(u64 address, u32 block, const ReleaseClocks&, bool replaces);
  /// The clocks that a warp of `block` may acquire there.
  ReleaseClocks acquire(u64 address, u32 block) const;
  void clear();

 private:
  struct Released {
    BlockClocks by_all;
    ProxyBlockClocks async;
    std::unordered_map<u32, BlockClocks> by_block;
  };
  std::atomic<bool> any_{false};  // false for most kernels, which release nothing
  mutable std::mutex mutex_;
  std::unordered_map<u64, Released> released_;
};

}  // namespace tilewright::rt::emulator
