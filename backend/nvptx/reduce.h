// Reductions.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_reduce(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
