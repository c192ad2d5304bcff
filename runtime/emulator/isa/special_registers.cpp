// Computes the value of each special register, by the kind of object that it names.
#include "runtime/emulator/isa/special_registers.h"

#include "runtime/emulator/state/cluster.h"
#include "runtime/emulator/state/launch_state.h"
#include "runtime/emulator/state/register_file.h"

namespace tilewright::rt::emulator {
namespace {

// The part of each block's shared memory that the system takes, from sm_80 on.
constexpr u64 kSystemSharedBytes = 1024;

u32 special_value(const LaunchState& launch, const Block& block, Special which, int warp, int lane) {
  const u32 thread = static_cast<u32>(warp * kLanes + lane);
  switch (which) {
#define TW_SPECIAL(text, name, of, value) \
  case Special::name: return static_cast<u32>(value);
#include "runtime/emulator/program/special_registers.def"
#undef TW_SPECIAL
  }
  return 0;
}

/// The kind of object that a special register names: see special_registers.def.
enum class Named : u8 { lane, block, launch };
constexpr Named kNamed[] = {
#define TW_SPECIAL(text, name, of, value) Named::of,
#include "runtime/emulator/program/special_registers.def"
#undef TW_SPECIAL
};

void fill(const LaunchState& launch, const Block& block, Warp& warp, bool of_block) {
  for (const auto& [slot, which] : launch.kernel->specials) {
    const Named named = kNamed[static_cast<std::size_t>(which)];
    if ((named == Named::block) != of_block) continue;
    Lanes<u32> values;
    if (named == Named::lane)
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

void fill_thread_registers(const LaunchState& launch, const Block& block, Warp& warp) { fill(launch, block, warp, false); }

void fill_block_registers(const LaunchState& launch, const Block& block, Warp& warp) { fill(launch, block, warp, true); }

}  // namespace tilewright::rt::emulator
