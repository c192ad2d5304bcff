// Matrix instructions.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_mma(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
