// Loads and stores of global memory.
#pragma once
#include "backend/nvptx/bounds.h"
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_load(Emitter&, BoundsCheck&, OpId);
void emit_store(Emitter&, BoundsCheck&, OpId);

}  // namespace tilewright::backend::nvptx
