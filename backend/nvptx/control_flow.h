// Loops and branches. Their conditions and bounds are scalars, which are equal in all threads, so no branch emitted here divides a warp.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_for(Emitter&, OpId);
void emit_if(Emitter&, OpId);
void emit_while(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
