// Clusters: addresses in the shared memory of their blocks, and the cluster's barrier.
#include "runtime/emulator/async/cluster.h"

#include <fmt/format.h>

#include "runtime/emulator/program/decoders.h"
#include "runtime/emulator/races/release_acquire.h"
#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/register_file.h"
#include "runtime/emulator/state/report.h"

namespace tilewright::rt::emulator {
namespace {

struct ArriveOptions {
  bool is_relaxed = false;
};
struct AddressOptions {
  bool is_generic = false;
};

void arrive_at_cluster(Warp& warp, const Instruction& i, Mask mask) {
  ClusterBarrier& barrier = warp.block->cluster->barrier;
  if ((warp.cluster_awaited & mask) != 0)
    report(warp, i, DiagnosticKind::bad_operand, __builtin_ctz(warp.cluster_awaited & mask),
           [] { return std::string("arrives at the cluster's barrier again without a wait in between"); });
  if (warp.cluster_arrived == 0) ++barrier.arrived;
  if (i.options<ArriveOptions>().is_relaxed) {
    // A relaxed arrival releases only clocks that an earlier fence has released.
    barrier.clocks.by_block.join(warp.released.for_all);
    barrier.async.join_by_block(warp.released.async);
  } else {
    publish_own(warp, mask);
    barrier.clocks.by_block.join(warp.clocks.by_block);
    barrier.async.join_by_block(warp.async.by_block());
  }
  ++warp.time;
  warp.cluster_arrived |= mask;
  warp.cluster_awaited |= mask;
  warp.cluster_phase = barrier.phase;
  complete_if_all_arrived(*warp.block->cluster);
}

void wait_for_cluster(Warp& warp, const Instruction& i, Mask mask) {
  const ClusterBarrier& barrier = warp.block->cluster->barrier;
  if ((mask & ~warp.cluster_awaited) != 0) {
    report(warp, i, DiagnosticKind::bad_operand, __builtin_ctz(mask & ~warp.cluster_awaited),
           [] { return std::string("waits for the cluster's barrier without having arrived there"); });
    return;
  }
  if (barrier.phase == warp.cluster_phase) {
    warp.entry().wait = Wait::cluster;
    return;
  }
  warp.cluster_awaited &= ~mask;
  acquire(warp, barrier.done_clocks, barrier.done_async);
}

/// The address of the same byte in the block with another rank.
template <class T>
void map_address(Warp& warp, const Instruction& i, Mask mask) {
  const auto count = warp.block->cluster->blocks.size();
  Lanes<T> address = read<T>(warp, i.slot[1]);
  const Lanes<u32> rank = read<u32>(warp, i.slot[2]);
  const u64 window = i.options<AddressOptions>().is_generic ? kSharedWindow : 0;
  for (const int lane : lanes_of(mask)) {
    const u64 from = address[lane] - window;
    if (rank[lane] >= count || from >= kWindowBytes) {
      report(warp, i, from >= kWindowBytes ? DiagnosticKind::wrong_space : DiagnosticKind::bad_operand, lane, [&] {
        if (from >= kWindowBytes) return fmt::format("0x{:x} is not a generic address of shared memory", address[lane]);
        return fmt::format("the block of rank {} of a cluster of {}", rank[lane], count);
      });
      continue;
    }
    const u64 base = rank[lane] == warp.block->rank ? 0 : (u64{rank[lane]} + 1) * kRankUnit;
    address[lane] = static_cast<T>(window + base + from % kRankUnit);
  }
  write(warp, i.slot[0], address, mask);
}

template <class T>
void rank_of_address(Warp& warp, const Instruction& i, Mask mask) {
  const Lanes<T> address = read<T>(warp, i.slot[1]);
  Lanes<u32> rank;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 offset = address[lane] - (i.options<AddressOptions>().is_generic ? kSharedWindow : 0);
    rank[lane] = offset < kRankUnit ? warp.block->rank : static_cast<u32>(offset / kRankUnit - 1);
  }
  write(warp, i.slot[0], rank, mask);
}

int take_address_type(Decoder& d) {
  d.out.category = Category::move;
  const bool is_generic = d.options<AddressOptions>().is_generic = !d.take("shared::cluster");
  const Type type = d.take_type();
  if (type != Type::u32 && type != Type::u64) d.fail("no instruction of this type");
  if (is_generic && type == Type::u32) d.fail("a generic address has 64 bits");
  return bytes_of(type);
}

}  // namespace

void complete_if_all_arrived(Cluster& cluster) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0) return;
  for (const auto& block : cluster.blocks)
    for (const Warp& warp : block->warps)
      if ((warp.cluster_arrived & warp.live) != warp.live) return;
  ++barrier.phase;
  barrier.arrived = 0;
  barrier.done_clocks.join(barrier.clocks);
  barrier.done_async.join(barrier.async);
  for (auto& block : cluster.blocks)
    for (Warp& warp : block->warps) {
      warp.cluster_arrived = 0;
      for (SimtStackEntry& entry : warp.stack)
        if (entry.wait == Wait::cluster) entry.wait = Wait::none;
    }
}

void decode_cluster_barrier(Decoder& d) {
  d.out.category = Category::barrier;
  d.out.kind = Kind::waiting;
  d.expect_operands(0);
  const int action = d.take_one({"arrive", "wait"}, "'.arrive' or '.wait' is missing");
  const bool is_relaxed = d.options<ArriveOptions>().is_relaxed = action == 0 && d.take("relaxed");
  if (!is_relaxed) d.take(action == 0 ? "release" : "acquire");
  d.out.is_aligned = d.take("aligned");
  d.out.execute = action == 0 ? arrive_at_cluster : wait_for_cluster;
}

void decode_mapa(Decoder& d) {
  const int bytes = take_address_type(d);
  d.take_operands(bytes, {bytes, 4});
  d.out.execute = bytes == 4 ? map_address<u32> : map_address<u64>;
}

void decode_getctarank(Decoder& d) {
  const int bytes = take_address_type(d);
  d.take_operands(4, {bytes});
  d.out.execute = bytes == 4 ? rank_of_address<u32> : rank_of_address<u64>;
}

}  // namespace tilewright::rt::emulator
