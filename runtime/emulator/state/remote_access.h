// Accesses to a block's shared memory by the other blocks of its cluster.
#pragma once
#include <map>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;

/// The last access of one lane of a warp or engine. Knowing it implies knowing all earlier ones, since epochs only increase.
struct RemoteAccess {
  Warp* warp = nullptr;  // the warp that executed the instruction
  u32 instruction = 0;
  int lane = 0;
  u64 epoch = 0;
  u64 phase = 0;  // for an operation on an mbarrier: the phase to which it belongs
};
/// Indexed by block, agent and lane.
using RemoteAccesses = std::map<u64, RemoteAccess>;

}  // namespace tilewright::rt::emulator
