// Release and acquire patterns: how warps publish their accesses, and acquire those of other warps.
#include "runtime/emulator/races/release_acquire.h"

#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/worker.h"

namespace tilewright::rt::emulator {

ReleaseClocks release(Warp& warp, Mask lanes, bool whole_gpu) {
  publish_own(warp, lanes);
  ++warp.time;
  if (!whole_gpu) return {warp.released.for_all, warp.clocks.by_block, warp.released.async};
  return {warp.clocks.by_block, warp.clocks.by_block, warp.async.by_block()};
}

void publish_own(Warp& warp, Mask lanes) {
  const u32 number = warp.block->number;
  VectorClock own = warp.clocks.clock;
  warp.publish(own, lanes);
  if (const VectorClock* published = warp.clocks.by_block.find(number)) own.join(*published);
  warp.clocks.by_block.assign(number, own);
  warp.async.each([&](AcquireClocks& clocks) {
    if (!(clocks.clock == VectorClock{})) clocks.by_block.assign(number, clocks.clock);
  });
}

/// Joins the acquired clocks of the warp's own block into the clock of that block.
static void join_own(const Warp& warp, AcquireClocks& clocks) {
  if (const VectorClock* own = clocks.by_block.find(warp.block->number)) clocks.clock.join(*own);
}

void acquire(Warp& warp, const AcquireClocks& clocks, const ProxyClocks& async) {
  warp.clocks.by_block.join(clocks.by_block);
  warp.async.join_by_block(async.by_block());
  join_own(warp, warp.clocks);
  warp.async.each([&](AcquireClocks& own) { join_own(warp, own); });
}

void acquire(Warp& warp, const ReleaseClocks& released, bool whole_gpu) {
  if (released.for_block.empty() && released.for_all.empty()) return;
  warp.clocks.by_block.join(released.for_block);
  if (whole_gpu) warp.clocks.by_block.join(released.for_all);
  warp.async.join_by_block(released.async);
  join_own(warp, warp.clocks);
  warp.async.each([&](AcquireClocks& own) { join_own(warp, own); });
}

ReleaseClocks released_by(Warp& warp, const Instruction& i, Mask lanes) {
  return i.releases ? release(warp, lanes, i.whole_gpu) : warp.released;
}

static Releases& releases_of(Warp& warp, const Request& request, int lane) {
  return request.space == Space::shared ? request.owner(lane).releases : warp.worker->launch->releases;
}

void release_through(Warp& warp, const ReleaseClocks& released, const Request& request, int lane, bool replaces) {
  releases_of(warp, request, lane).release(request.address[lane], warp.block->number, released, replaces);
}

void acquire_through(Warp& warp, const Instruction& i, const Request& request, int lane) {
  const ReleaseClocks released = releases_of(warp, request, lane).acquire(request.address[lane], warp.block->number);
  if (i.acquires)
    acquire(warp, released, i.whole_gpu);
  else
    warp.to_acquire.join(released);  // for a later fence
}

}  // namespace tilewright::rt::emulator
