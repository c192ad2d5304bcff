// Fences between the proxies through which threads and engines access memory, and dependencies between launches.
#include "runtime/emulator/memory/access.h"
#include "runtime/emulator/program/decoders.h"

namespace tilewright::rt::emulator {
namespace {

struct ProxyOptions {
  bool shared = false, global = false;  // kinds of memory
};

void rely_on(const Warp& warp, AcquireClocks& clocks, Mask lanes) {
  clocks.join(warp.clocks);
  warp.publish(clocks.clock, lanes);
}

/// From now on, accesses through the asynchronous proxy are ordered after all generic accesses that the warp has acquired.
void fence_async(Warp& warp, const Instruction& i, Mask mask) {
  if (!warp.worker->launch->check) return;
  if (i.options<ProxyOptions>().shared) rely_on(warp, warp.async.shared, mask);
  if (i.options<ProxyOptions>().global) rely_on(warp, warp.async.global, mask);
  ++warp.time;
}

/// Releases to all threads that synchronise with later operations of the warp, even with relaxed ones.
void fence_mbarrier_init(Warp& warp, const Instruction&, Mask mask) {
  if (warp.worker->launch->check) warp.released = release(warp, mask, true);
}

/// Acquires the tensor map at the lanes' address, which was written as ordinary memory: copies that use this map from now on may rely on
/// it. It orders neither other maps nor the data that copies read and write.
void acquire_tensor_map(Warp& warp, const Instruction& i, Mask mask) {
  if (!warp.worker->launch->check) return;
  acquire(warp, warp.to_acquire, i.whole_gpu);
  warp.to_acquire = {};
  const Lanes<u64> address = addresses_of(warp, i, i.slot[0], i.immediate);
  for (Mask rest = mask; rest != 0;) {
    const u64 map = address[__builtin_ctz(rest)];
    Mask same = 0;
    for (int lane = 0; lane < kLanes; ++lane) same |= address[lane] == map ? rest & kLaneBit[lane] : 0;
    rely_on(warp, warp.async.maps[map], same);
    rest &= ~same;
  }
  ++warp.time;
}

void release_tensor_map(Warp& warp, const Instruction& i, Mask mask) {
  if (warp.worker->launch->check) warp.released = release(warp, mask, i.whole_gpu);
}

void nothing(Warp&, const Instruction&, Mask) {}

void decode_tensor_map_fence(Decoder& d) {
  const int order = d.take_one({"acquire", "release"});
  const int scope = d.take_one({"cta", "cluster", "gpu", "sys"});
  if (order < 0 || scope < 0) d.fail("expected '.acquire' or '.release' and a scope");
  d.out.whole_gpu = scope > 0;
  d.out.execute = order == 0 ? acquire_tensor_map : release_tensor_map;
  d.expect_operands(order == 0 ? 2 : 0);
  if (order == 1) return;
  d.address(0, d.operand(0));
  if (d.constant(d.operand(1)) != 128) d.fail("a tensor map has 128 bytes");
}

/// One-sided fences for synchronisation through shared memory: the releasing side publishes what it did, and the acquiring side relies on
/// that. The fence of either side lies between the two accesses.
void decode_one_sided(Decoder& d) {
  const bool acquires = d.take("acquire");
  if (!acquires && !d.take("release")) d.fail("'.acquire' or '.release' is missing");
  const std::string restriction = acquires ? "sync_restrict::shared::cluster" : "sync_restrict::shared::cta";
  if (!d.take(restriction) || !d.take("cluster")) d.fail("expected '." + restriction + ".cluster'");
  d.options<ProxyOptions>() = {true, false};
  d.out.execute = fence_async;
}

}  // namespace

void decode_proxy_fence(Decoder& d) {
  d.out.category = Category::fence;
  if (d.take("tensormap::generic")) return decode_tensor_map_fence(d);
  d.expect_operands(0);
  if (d.take("alias")) {
    // Virtual addresses of the emulator have no aliases.
    d.out.execute = nothing;
    return;
  }
  if (d.take("async::generic")) return decode_one_sided(d);
  if (!d.take("async")) d.fail("unknown proxy");
  const int space = d.take_one({"global", "shared::cta", "shared::cluster"});
  d.options<ProxyOptions>() = {space != 0, space <= 0};
  d.out.execute = fence_async;
}

void decode_mbarrier_fence(Decoder& d) {
  d.out.category = Category::fence;
  if (!d.take("release") || !d.take("cluster")) d.fail("expected 'fence.mbarrier_init.release.cluster'");
  d.expect_operands(0);
  d.out.execute = fence_mbarrier_init;
}

void decode_griddepcontrol(Decoder& d) {
  d.out.category = Category::control;
  if (d.take_one({"launch_dependents", "wait"}) < 0) d.fail("expected '.launch_dependents' or '.wait'");
  d.expect_operands(0);
  // Each launch has finished before the next one begins.
  d.out.execute = nothing;
}

}  // namespace tilewright::rt::emulator
