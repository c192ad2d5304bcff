// What warps know of other warps' accesses, and hand on through releases and acquires.
#include "runtime/emulator/memory/access.h"

namespace tilewright::rt::emulator {

Knowledge publish(Warp& warp, Mask lanes, bool whole_gpu) {
  learn_own(warp, lanes);
  ++warp.epoch;
  if (!whole_gpu) return {warp.released.for_all, warp.view.foreign, warp.released.async};
  return {warp.view.foreign, warp.view.foreign, warp.async.foreign()};
}

void learn_own(Warp& warp, Mask lanes) {
  const u32 number = warp.block->number;
  Clock own = warp.view.clock;
  warp.tell(own, lanes);
  if (const Clock* told = warp.view.foreign.find(number)) own.join(*told);
  warp.view.foreign.learn(number, own);
  warp.async.each([&](View& view) {
    if (!(view.clock == Clock{})) view.foreign.learn(number, view.clock);
  });
}

/// Of what the view knows of blocks, the part on the warp's own block becomes a part of its clock.
static void take_own(const Warp& warp, View& view) {
  if (const Clock* own = view.foreign.find(warp.block->number)) view.clock.join(*own);
}

void take_view(Warp& warp, const View& view, const AsyncViews& async) {
  warp.view.foreign.join(view.foreign);
  warp.async.join_foreign(async.foreign());
  take_own(warp, warp.view);
  warp.async.each([&](View& own) { take_own(warp, own); });
}

void take_knowledge(Warp& warp, const Knowledge& knowledge, bool whole_gpu) {
  if (knowledge.for_block.empty() && knowledge.for_all.empty()) return;
  warp.view.foreign.join(knowledge.for_block);
  if (whole_gpu) warp.view.foreign.join(knowledge.for_all);
  warp.async.join_foreign(knowledge.async);
  take_own(warp, warp.view);
  warp.async.each([&](View& own) { take_own(warp, own); });
}

Knowledge released_by(Warp& warp, const Instruction& i, Mask lanes) {
  return i.releases ? publish(warp, lanes, i.whole_gpu) : warp.released;
}

static Releases& releases_of(Warp& warp, const Places& places, int lane) {
  return places.space == Space::shared ? places.owner(lane).releases : warp.worker->launch->releases;
}

void release_through(Warp& warp, const Knowledge& knowledge, const Places& places, int lane, bool replaces) {
  releases_of(warp, places, lane).release(places.address[static_cast<std::size_t>(lane)], warp.block->number, knowledge, replaces);
}

void acquire_through(Warp& warp, const Instruction& i, const Places& places, int lane) {
  const Knowledge knowledge = releases_of(warp, places, lane).acquire(places.address[static_cast<std::size_t>(lane)], warp.block->number);
  if (i.acquires)
    take_knowledge(warp, knowledge, i.whole_gpu);
  else
    warp.to_acquire.join(knowledge);  // for a fence to take
}

void Releases::release(u64 address, u32 block, const Knowledge& knowledge, bool replaces) {
  if (knowledge.for_block.empty() && !(replaces && any_)) return;
  any_ = true;
  const std::lock_guard lock(mutex_);
  if (replaces) released_.erase(address);
  if (knowledge.for_block.empty()) return;
  Released& released = released_[address];
  released.by_all.join(knowledge.for_all);
  released.by_block[block].join(knowledge.for_block);
  released.async.join(knowledge.async);
}

Knowledge Releases::acquire(u64 address, u32 block) const {
  if (!any_) return {};
  const std::lock_guard lock(mutex_);
  const auto found = released_.find(address);
  if (found == released_.end()) return {};
  const auto own = found->second.by_block.find(block);
  const Released& released = found->second;
  return {released.by_all, own == released.by_block.end() ? KnownBlocks{} : own->second, released.async};
}

void Releases::clear() {
  if (!any_) return;
  const std::lock_guard lock(mutex_);
  released_.clear();
  any_ = false;
}

}  // namespace tilewright::rt::emulator
