// Arrivals at barriers of a block.
#pragma once
#include "runtime/emulator/state/barrier.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Lanes of a warp arrive at a barrier of their block; the last arrival lets all waiting warps continue.
void arrive(Warp&, Barrier&, Mask);
/// Lets the warps that wait at the barrier continue if all have arrived.
void release_if_complete(Block&, Barrier&);

}  // namespace tilewright::rt::emulator
