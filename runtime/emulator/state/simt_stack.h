// The SIMT stack of a diverged warp: lanes that execute together, and their reconvergence points.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

enum class Wait : u8 { none, barrier, mbarrier, cluster, matrix, registers, collective };

/// Lanes of a warp that execute together. When an entry diverges, it waits at the reconvergence point for its children.
struct SimtStackEntry {
  u32 pc = 0;
  Mask mask = 0;
  u32 reconvergence = 0;  // where this entry ends and its parent continues
  s32 parent = -1;
  u32 children = 0;  // number of entries for which it waits
  Wait wait = Wait::none;
  u32 wait_id = 0;     // number of the barrier; offset of the mbarrier; count of registers
  u64 wait_phase = 0;  // phase of the mbarrier
  u32 tried = ~0u;     // the instruction that last found an mbarrier's phase incomplete
};

}  // namespace tilewright::rt::emulator
