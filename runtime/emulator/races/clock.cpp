// What is known of some lanes, and the tree of what is known of blocks.
#include "runtime/emulator/races/clock.h"

#include <cstring>

#include "runtime/emulator/simd/cpu_dispatch.h"

namespace tilewright::rt::emulator {
namespace {

// A constant number of agents at a time, in arrays of their own, because those are compared together.
void raise_steps(u32* known, const u32* other, u32 steps) {
  for (; steps != 0; steps &= steps - 1) {
    const std::size_t first = static_cast<std::size_t>(std::countr_zero(steps)) * kMaxWarps;
    std::array<u32, kMaxWarps> mine, theirs;
    std::memcpy(mine.data(), known + first, sizeof mine);
    std::memcpy(theirs.data(), other + first, sizeof theirs);
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], theirs[i]);
    std::memcpy(known + first, mine.data(), sizeof mine);
  }
}

}  // namespace

void Clock::raise_all(u32* known, const u32* other, u32 steps) { call_for_processor<raise_steps>(known, other, steps); }

void Clock::raise(int agent, u32 epoch, Mask lanes) {
  const auto a = static_cast<std::size_t>(agent);
  if (epoch <= at_[a]) return;
  Part& part = parts_[a];
  if (part.epoch <= at_[a]) part = {};
  part.epoch = std::max(part.epoch, epoch);
  part.lanes |= lanes;
  with_parts_ |= u64{1} << agent;
  if (part.lanes != kAllLanes) return;
  raise(agent, part.epoch);
  part = {};
}

bool Clock::knows_part(int agent, u32 epoch, u32 lane) const {
  const Part& part = parts_[static_cast<std::size_t>(agent)];
  if (epoch > part.epoch) return false;
  // One lane's word is not enough for what several did.
  return lane < kSeveralLanes ? (part.lanes >> lane & 1) != 0 : (part.lanes & (part.lanes - 1)) != 0;
}

void Clock::join_parts(const Clock& other) {
  for (u64 rest = other.with_parts_; rest != 0; rest &= rest - 1) {
    const int agent = std::countr_zero(rest);
    if (const Part& part = other.parts_[static_cast<std::size_t>(agent)]; part.lanes != 0) raise(agent, part.epoch, part.lanes);
  }
}

bool Clock::covers_parts(const Clock& other) const {
  for (std::size_t a = 0; a < kAgentsWithLanes; ++a) {
    const Part &part = other.parts_[a], &own = parts_[a];
    if (part.epoch > at_[a] && (part.epoch > own.epoch || (part.lanes & ~own.lanes) != 0)) return false;
  }
  return true;
}

// In 64 bits, since eleven levels count further than 32.
bool KnownBlocks::reaches(u32 block) const { return u64{block} >> (kBits * levels_) == 0; }

const Clock* KnownBlocks::find(u32 block) const {
  if (!reaches(block)) return nullptr;
  const Node* node = root_.get();
  for (u32 level = levels_; level > 0 && node != nullptr; --level) node = node->below[block >> (kBits * (level - 1)) & (kWays - 1)].get();
  return node != nullptr ? node->clock.get() : nullptr;
}

KnownBlocks::NodeRef KnownBlocks::learn(const NodeRef& node, u32 level, u32 block, const Clock& clock) {
  auto made = std::make_shared<Node>();
  if (level == 0) {
    made->clock = std::make_unique<const Clock>(clock);
    return made;
  }
  if (node) made->below = node->below;
  NodeRef& child = made->below[block >> (kBits * (level - 1)) & (kWays - 1)];
  child = learn(child, level - 1, block, clock);
  return made;
}

void KnownBlocks::learn(u32 block, const Clock& clock) {
  if (const Clock* known = find(block); known != nullptr && *known == clock) return;
  while (!reaches(block)) grow();
  root_ = learn(root_, levels_, block, clock);
}

void KnownBlocks::grow() {
  ++levels_;
  if (!root_) return;
  auto above = std::make_shared<Node>();
  above->below[0] = root_;
  root_ = above;
}

void KnownBlocks::join_tree(const KnownBlocks& other) {
  KnownBlocks taken = other;
  while (taken.levels_ < levels_) taken.grow();
  while (levels_ < taken.levels_) grow();
  root_ = join(root_, taken.root_);
}

// Gives one of the two where it can, since what is one object need not be compared again.
KnownBlocks::NodeRef KnownBlocks::join(const NodeRef& a, const NodeRef& b) {
  if (!b || a == b) return a;
  if (!a) return b;
  if (a->clock) {
    if (a->clock->covers(*b->clock)) return a;
    if (b->clock->covers(*a->clock)) return b;
    Clock both = *a->clock;
    both.join(*b->clock);
    return learn(nullptr, 0, 0, both);
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

void AsyncBlocks::join(const AsyncBlocks& other) {
  shared.join(other.shared);
  global.join(other.global);
  for (const auto& [address, blocks] : other.maps) maps[address].join(blocks);
}

void AsyncViews::clear() {
  shared.clear();
  global.clear();
  maps.clear();
}

void AsyncViews::join(const AsyncViews& other) {
  shared.join(other.shared);
  global.join(other.global);
  for (const auto& [address, view] : other.maps) maps[address].join(view);
}

AsyncBlocks AsyncViews::foreign() const {
  AsyncBlocks blocks{shared.foreign, global.foreign, {}};
  for (const auto& [address, view] : maps) blocks.maps[address] = view.foreign;
  return blocks;
}

void AsyncViews::join_foreign(const AsyncBlocks& blocks) {
  shared.foreign.join(blocks.shared);
  global.foreign.join(blocks.global);
  for (const auto& [address, known] : blocks.maps) maps[address].foreign.join(known);
}

}  // namespace tilewright::rt::emulator
