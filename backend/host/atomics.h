// The update of memory that an atomic makes.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

/// Updates memory for an active lane and returns the old value. x: the address, and the values of the lane.
Value* update_memory(Emitter&, OpId, const Values& x);

}  // namespace tilewright::backend::host
