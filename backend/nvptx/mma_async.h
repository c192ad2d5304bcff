// Asynchronous matrix instructions: wgmma.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_mma_async(Emitter&, OpId);
void emit_mma_wait(Emitter&, OpId);
void emit_proxy_fence(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
