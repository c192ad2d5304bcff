// Atomics on global memory.
#pragma once
#include "backend/nvptx/bounds.h"
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// Lowers every op of the family atomic.
void emit_atomic(Emitter&, BoundsCheck&, OpId);

}  // namespace tilewright::backend::nvptx
