// Ops that send the elements of a tile to other threads.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_convert_layout(Emitter&, OpId);
void emit_flip(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
