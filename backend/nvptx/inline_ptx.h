// The user's own PTX.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_inline_ptx(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
