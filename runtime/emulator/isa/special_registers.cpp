// The value of each special register by what kind of thing it names.
#include "runtime/emulator/isa/special_registers.h"

#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

// What the system takes of the shared memory of each block, from sm_80 on.
constexpr u64 kSystemSharedBytes = 1024;

u32 special_value(const Launch& launch, const Block& block, Special which, int warp, int lane) {
  const auto& [ntid_x, ntid_y, ntid_z] = launch.block;
  const u32 thread = static_cast<u32>(warp * kLanes + lane);
  const u32 bit = 1u << lane;
  const auto axis = [&](Special first) { return static_cast<std::size_t>(which) - static_cast<std::size_t>(first); };
  switch (which) {
    case Special::tid_x: return thread % ntid_x;
    case Special::tid_y: return thread / ntid_x % ntid_y;
    case Special::tid_z: return thread / ntid_x / ntid_y;
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z: return launch.block[axis(Special::ntid_x)];
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z: return block.id[axis(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z: return launch.grid[axis(Special::nctaid_x)];
    case Special::laneid: return static_cast<u32>(lane);
    case Special::warpid: return static_cast<u32>(warp);
    case Special::nwarpid: return static_cast<u32>(block.warps.size());
    case Special::smid: return 0;
    case Special::nsmid: return 1;
    case Special::gridid: return static_cast<u32>(launch.number);
    case Special::lanemask_eq: return bit;
    case Special::lanemask_lt: return bit - 1;
    case Special::lanemask_le: return bit | (bit - 1);
    case Special::lanemask_gt: return ~(bit | (bit - 1));
    case Special::lanemask_ge: return ~(bit - 1);
    case Special::dynamic_shared_bytes: return static_cast<u32>(launch.dynamic_shared_bytes);
    case Special::total_shared_bytes: return static_cast<u32>(block.shared_bytes);
    case Special::all_shared_bytes: return static_cast<u32>(block.shared_bytes + kSystemSharedBytes);
    case Special::workspace_high: return static_cast<u32>(launch.workspace >> 32);
    case Special::workspace_low: return static_cast<u32>(launch.workspace);
    // Without clusters, each block is one of its own.
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z: return block.cluster->id[axis(Special::clusterid_x)];
    case Special::nclusterid_x:
    case Special::nclusterid_y:
    case Special::nclusterid_z: return launch.clusters[axis(Special::nclusterid_x)];
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: return coordinates_of(block.rank, launch.cluster)[axis(Special::cluster_ctaid_x)];
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z: return launch.cluster[axis(Special::cluster_nctaid_x)];
    case Special::cluster_ctarank: return block.rank;
    case Special::cluster_nctarank: return static_cast<u32>(block.cluster->blocks.size());
    case Special::is_explicit_cluster: return launch.has_clusters ? kAllLanes : 0;
    default: return 0;
  }
}

/// Whether it names the block or its place in the cluster, and not the thread or the launch.
bool is_of_block(Special which) {
  switch (which) {
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
    case Special::clusterid_x:
    case Special::clusterid_y:
    case Special::clusterid_z:
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z:
    case Special::cluster_ctarank:
    case Special::cluster_nctarank: return true;
    default: return false;
  }
}

/// Whether lanes differ in it.
bool is_of_lane(Special which) {
  switch (which) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z:
    case Special::laneid:
    case Special::lanemask_eq:
    case Special::lanemask_lt:
    case Special::lanemask_le:
    case Special::lanemask_gt:
    case Special::lanemask_ge: return true;
    default: return false;
  }
}

void fill(const Launch& launch, const Block& block, Warp& warp, bool of_block) {
  for (const auto& [slot, which] : launch.kernel->specials) {
    if (is_of_block(which) != of_block) continue;
    Lanes<u32> values;
    if (is_of_lane(which))
      for (int lane = 0; lane < kLanes; ++lane) values[lane] = special_value(launch, block, which, warp.index, lane);
    else
      std::fill_n(values.at, kLanes, special_value(launch, block, which, warp.index, 0));
    if (which == Special::gridid) {
      Lanes<u64> wide;
      for (int lane = 0; lane < kLanes; ++lane) wide[lane] = values[lane];
      write(warp, slot, wide, kAllLanes);
    } else if (which == Special::is_explicit_cluster) {
      write_mask(warp, slot, values[0], kAllLanes);
    } else {
      write(warp, slot, values, kAllLanes);
    }
  }
}

}  // namespace

std::array<u32, 3> coordinates_of(u64 k, const std::array<u32, 3>& extents) {
  return {static_cast<u32>(k % extents[0]), static_cast<u32>(k / extents[0] % extents[1]), static_cast<u32>(k / extents[0] / extents[1])};
}

void fill_thread_registers(const Launch& launch, const Block& block, Warp& warp) { fill(launch, block, warp, false); }

void fill_block_registers(const Launch& launch, const Block& block, Warp& warp) { fill(launch, block, warp, true); }

}  // namespace tilewright::rt::emulator
