// The memory of clusters, and the start of their blocks.
#include "runtime/emulator/machine/clusters.h"

#include <algorithm>
#include <cstring>

#include "runtime/emulator/isa/special_registers.h"
#include "runtime/emulator/matrix/packed_panels.h"

namespace tilewright::rt::emulator {
namespace {

/// Fills the registers of a block's first warp that hold constants; the other warps hold the same.
void fill_constants(const Kernel& kernel, std::span<Warp> warps) {
  for (const Kernel::Constant& constant : kernel.constants) {
    std::byte* const first = warps[0].registers + constant.slot;
    const std::size_t bytes = constant.bytes == 0 ? sizeof(Mask) : kLanes * constant.bytes;
    if (constant.bytes == 0) {
      const Mask mask = static_cast<Mask>(constant.bits);
      std::memcpy(first, &mask, sizeof mask);
    }
    for (std::size_t at = 0; constant.bytes != 0 && at < bytes; at += constant.bytes) {
      std::memset(first + at, 0, constant.bytes);
      std::memcpy(first + at, &constant.bits, std::min<std::size_t>(constant.bytes, sizeof constant.bits));
    }
    for (const Warp& warp : warps.subspan(1)) std::memcpy(warp.registers + constant.slot, first, bytes);
  }
}

u64 warps_of(const LaunchState& launch) { return (product(launch.block) + kLanes - 1) / kLanes; }
u64 shared_bytes_of(const LaunchState& launch) { return launch.kernel->static_shared_bytes + launch.dynamic_shared_bytes; }

std::unique_ptr<Block> make_block(const LaunchState& launch) {
  const Kernel& kernel = *launch.kernel;
  auto block = std::make_unique<Block>();
  const u64 warps = warps_of(launch);
  const u64 register_bytes = (kernel.register_bytes + 63) / 64 * 64;
  block->registers = std::make_unique<std::byte[]>(warps * register_bytes + 64);
  block->locals = std::make_unique<std::byte[]>(warps * kLanes * kernel.local_bytes);
  block->shared_bytes = shared_bytes_of(launch);
  block->shared = std::make_unique<std::byte[]>(block->shared_bytes + 128);
  block->warps.resize(warps);
  auto* registers = reinterpret_cast<std::byte*>((reinterpret_cast<u64>(block->registers.get()) + 63) / 64 * 64);
  for (std::size_t w = 0; w < warps; ++w) {
    Warp& warp = block->warps[w];
    warp.block = block.get();
    warp.kernel = &kernel;
    warp.index = static_cast<int>(w);
    warp.registers = registers + w * register_bytes;
    warp.local = block->locals.get() + w * kLanes * kernel.local_bytes;
  }
  fill_constants(kernel, block->warps);
  return block;
}

/// Forgets the mbarriers but keeps their memory for later ones.
void forget_mbarriers(Block& block) {
  for (auto& [offset, barrier] : block.mbarriers) {
    barrier->reset();
    block.spare_mbarriers.push_back(std::move(barrier));
  }
  block.mbarriers.clear();
}

void start_block(const LaunchState& launch, Block& block, Worker& worker) {
  const Kernel& kernel = *launch.kernel;
  const auto in_cluster = coordinates_of(block.rank, launch.cluster);
  for (std::size_t d = 0; d < 3; ++d) block.id[d] = block.cluster->id[d] * launch.cluster[d] + in_cluster[d];
  block.number = block.id[0] + launch.grid[0] * (block.id[1] + launch.grid[1] * block.id[2]);
  block.ticket = launch.first_ticket + block.number;
  block.running = static_cast<int>(block.warps.size());
  // Barriers that were released are already reset.
  for (Barrier& barrier : block.barriers)
    if (barrier.arrived != 0) barrier.reset();
  block.matrix_groups = {};
  block.free_registers = 0;
  block.releases.clear();
  block.undefined.clear();
  for (const auto& panels : block.packed_panels)
    if (panels != nullptr) panels->forget();
  forget_mbarriers(block);
  if (launch.check) {
    block.shadow.reset(block.shared_bytes, kernel.shared_granule, kernel.has_engines && launch.fast_paths);
    block.remote_accesses.clear();
  }
  u64 threads = product(launch.block);
  for (Warp& warp : block.warps) {
    warp.worker = &worker;
    warp.live = threads >= kLanes ? kAllLanes : (1u << threads) - 1;
    threads -= std::min<u64>(threads, kLanes);
    warp.stack.assign(1, {});
    warp.stack[0].mask = warp.live;
    warp.stack[0].reconvergence = kernel.end;
    warp.free_entries.clear();
    warp.current = 0;
    warp.carry = 0;
    warp.polled = 0;
    warp.poll = {};
    warp.clocks.clear();
    warp.time = 1;
    warp.async.clear();
    warp.released = warp.to_acquire = {};
    warp.copies.clear();
    warp.committed = {};
    warp.commits_together = true;
    for (auto& calls : warp.activations) calls.clear();
    warp.matrix.reset();
    warp.most_registers = kernel.entry_registers;
    warp.copy_sequence = warp.bulk_sequence = 0;
    warp.bulk_copies.clear();
    warp.bulk_committed = {};
    warp.cluster_arrived = warp.cluster_awaited = 0;
    warp.cluster_phase = 0;
    fill_block_registers(launch, block, warp);
    // Registers that are read before they are written have the same values in every run, and these values are unlikely to look correct.
    warp.undefined.clear();
    for (u32 k = 0; k < kernel.unwritten.size(); ++k) {
      const Kernel::Unwritten& reg = kernel.unwritten[k];
      std::memset(warp.registers + reg.slot, 0xdb, reg.bytes);
      if (launch.check) warp.undefined.write(reg.slot, reg.value_bytes, warp.live, warp.live, {k, true});
    }
  }
}

/// Whether blocks of this launch fit into the cluster's memory.
bool fits(const LaunchState& launch, const Cluster& cluster) {
  const Block& block = *cluster.blocks.front();
  return cluster.blocks.size() == product(launch.cluster) && block.warps.size() == warps_of(launch) &&
         block.shared_bytes == shared_bytes_of(launch);
}

std::shared_ptr<Cluster> new_cluster(const LaunchState& launch) {
  auto cluster = std::make_shared<Cluster>();
  for (u32 rank = 0; rank < product(launch.cluster); ++rank) {
    cluster->blocks.push_back(make_block(launch));
    cluster->blocks.back()->cluster = cluster.get();
    cluster->blocks.back()->rank = rank;
  }
  return cluster;
}

}  // namespace

std::shared_ptr<Cluster> make_cluster(const LaunchState& launch) {
  std::shared_ptr<Cluster> cluster = launch.kernel->cluster_pool.take();
  if (cluster == nullptr || !fits(launch, *cluster)) cluster = new_cluster(launch);
  for (const auto& block : cluster->blocks)
    for (Warp& warp : block->warps) fill_thread_registers(launch, *block, warp);
  return cluster;
}

void start_cluster(const LaunchState& launch, Cluster& cluster, Worker& worker, u64 number) {
  cluster.id = coordinates_of(number, launch.clusters);
  cluster.operations.clear();
  cluster.barrier.reset();
  cluster.watch.reset();
  for (auto& block : cluster.blocks) start_block(launch, *block, worker);
}

}  // namespace tilewright::rt::emulator
