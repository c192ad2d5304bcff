// The tree of blocks' clocks, clocks of proxies, and releases by address.
#include "runtime/emulator/shadow/acquire_clocks.h"

namespace tilewright::rt::emulator {

// In 64 bits, since eleven levels count beyond 32 bits.
bool BlockClocks::reaches(u32 block) const { return u64{block} >> (kBits * levels_) == 0; }

const VectorClock* BlockClocks::find(u32 block) const {
  if (!reaches(block)) return nullptr;
  const Node* node = root_.get();
  for (u32 level = levels_; level > 0 && node != nullptr; --level) node = node->below[block >> (kBits * (level - 1)) & (kWays - 1)].get();
  return node != nullptr ? node->clock.get() : nullptr;
}

BlockClocks::NodeRef BlockClocks::assign(const NodeRef& node, u32 level, u32 block, const VectorClock& clock) {
  auto made = std::make_shared<Node>();
  if (level == 0) {
    made->clock = std::make_unique<const VectorClock>(clock);
    return made;
  }
  if (node) made->below = node->below;
  NodeRef& child = made->below[block >> (kBits * (level - 1)) & (kWays - 1)];
  child = assign(child, level - 1, block, clock);
  return made;
}

void BlockClocks::assign(u32 block, const VectorClock& clock) {
  if (const VectorClock* known = find(block); known != nullptr && *known == clock) return;
  while (!reaches(block)) grow();
  root_ = assign(root_, levels_, block, clock);
}

void BlockClocks::grow() {
  ++levels_;
  if (!root_) return;
  auto above = std::make_shared<Node>();
  above->below[0] = root_;
  root_ = above;
}

void BlockClocks::join_tree(const BlockClocks& other) {
  BlockClocks joined = other;
  while (joined.levels_ < levels_) joined.grow();
  while (levels_ < joined.levels_) grow();
  root_ = join(root_, joined.root_);
}

// Returns one of the two nodes if possible, since a node need not be joined with itself again.
BlockClocks::NodeRef BlockClocks::join(const NodeRef& a, const NodeRef& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (a->clock) {
    if (a->clock->covers(*b->clock)) return a;
    if (b->clock->covers(*a->clock)) return b;
    VectorClock both = *a->clock;
    both.join(*b->clock);
    return assign(nullptr, 0, 0, both);
  }
  std::array<NodeRef, kWays> below;
  bool is_a = true, is_b = true;
  for (u32 way = 0; way < kWays; ++way) {
    below[way] = join(a->below[way], b->below[way]);
    is_a &= below[way] == a->below[way];
    is_b &= below[way] == b->below[way];
  }
  if (is_a) return a;
  if (is_b) return b;
  auto made = std::make_shared<Node>();
  made->below = std::move(below);
  return made;
}

void ProxyBlockClocks::join(const ProxyBlockClocks& other) {
  shared.join(other.shared);
  global.join(other.global);
  for (const auto& [address, blocks] : other.maps) maps[address].join(blocks);
}

void ProxyClocks::clear() {
  shared.clear();
  global.clear();
  maps.clear();
}

void ProxyClocks::join(const ProxyClocks& other) {
  shared.join(other.shared);
  global.join(other.global);
  for (const auto& [address, clocks] : other.maps) maps[address].join(clocks);
}

ProxyBlockClocks ProxyClocks::by_block() const {
  ProxyBlockClocks blocks{shared.by_block, global.by_block, {}};
  for (const auto& [address, clocks] : maps) blocks.maps[address] = clocks.by_block;
  return blocks;
}

void ProxyClocks::join_by_block(const ProxyBlockClocks& blocks) {
  shared.by_block.join(blocks.shared);
  global.by_block.join(blocks.global);
  for (const auto& [address, known] : blocks.maps) maps[address].by_block.join(known);
}

void Releases::release(u64 address, u32 block, const ReleaseClocks& clocks, bool replaces) {
  if (clocks.for_block.empty() && !(replaces && any_)) return;
  any_ = true;
  const std::lock_guard lock(mutex_);
  if (replaces) released_.erase(address);
  if (clocks.for_block.empty()) return;
  Released& released = released_[address];
  released.by_all.join(clocks.for_all);
  released.by_block[block].join(clocks.for_block);
  released.async.join(clocks.async);
}

ReleaseClocks Releases::acquire(u64 address, u32 block) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  if (found == released_.end()) return {};
  const Released& released = found->second;
  const auto own = released.by_block.find(block);
  return {released.by_all, own == released.by_block.end() ? BlockClocks{} : own->second, released.async};
}

void Releases::clear() {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  released_.clear();
  any_ = false;
}

}  // namespace tilewright::rt::emulator
