// A block: its warps, shared memory and barriers.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/emulator/shadow/acquire_clocks.h"
#include "runtime/emulator/shadow/shared_shadow.h"
#include "runtime/emulator/simd/by_offset.h"
#include "runtime/emulator/state/barrier.h"
#include "runtime/emulator/state/mbarrier_object.h"
#include "runtime/emulator/state/remote_access.h"
#include "runtime/emulator/state/undefined_values.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

struct Cluster;
class PackedPanels;

struct Block {
  Cluster* cluster = nullptr;
  u32 rank = 0;  // rank in its cluster
  std::array<u32, 3> id{};
  u32 number = 0, ticket = 0;
  std::vector<Warp> warps;
  std::unique_ptr<std::byte[]> registers, locals, shared;
  u64 shared_bytes = 0;
  u64 writes = 0;       // number of checked writes to shared memory
  SharedShadow shadow;  // shadow of shared memory
  UndefinedBytes undefined;
  RemoteAccesses remote_accesses;  // to shared memory, except operations on mbarriers
  Releases releases;               // releases through shared memory
  std::array<Barrier, 16> barriers;
  // The map is ordered by offset in shared memory. The offsets are stored separately, since they are searched often.
  ByOffset<Mbarrier> mbarriers;
  std::vector<std::unique_ptr<Mbarrier>> spare_mbarriers;
  std::array<std::vector<u64>, kMaxWarps / 4> matrix_groups;               // for each warpgroup: the traces of all its groups
  std::array<std::shared_ptr<PackedPanels>, kMaxWarps / 4> packed_panels;  // for each warpgroup: operands of wgmma
  int running = 0;                                                         // warps that have not finished
  u32 free_registers = 0;                                                  // registers per thread that warps have returned, over all warps
};

}  // namespace tilewright::rt::emulator
