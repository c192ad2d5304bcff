// Arrivals at barriers of a block.
#pragma once
#include "runtime/emulator/state/barrier.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

/// Lanes of a warp have come to a barrier of their block; the last ones to come let all go on.
void arrive(Warp&, Barrier&, Mask);
/// Lets those go on that wait at the barrier if all have come.
void release_if_complete(Block&, Barrier&);

}  // namespace tilewright::rt::emulator
