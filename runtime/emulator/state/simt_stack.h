// The SIMT stack of a diverged warp: lanes that execute together, and where they reconverge.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

enum class Wait : u8 { none, barrier, mbarrier, cluster, matrix, registers, collective };

/// Lanes of a warp that execute together. An entry that diverges becomes one that waits at the reconvergence point for its children.
struct SimtStackEntry {
  u32 pc = 0;
  Mask mask = 0;
  u32 reconvergence = 0;  // where this entry ends and its parent goes on
  s32 parent = -1;
  u32 children = 0;  // waits for so many
  Wait wait = Wait::none;
  u32 wait_id = 0;     // of a barrier; of an mbarrier, its offset; of registers, how many
  u64 wait_phase = 0;  // of an mbarrier
  u32 tried = ~0u;     // the instruction that last found an mbarrier's phase unfinished
};

}  // namespace tilewright::rt::emulator
