// Loops and branches. Their conditions and bounds are scalars, equal in all threads, so no branch emitted here makes a warp diverge.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_for(Emitter&, OpId);
void emit_if(Emitter&, OpId);
void emit_while(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
