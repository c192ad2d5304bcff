// Matrix products.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_dot(Emitter&, OpId);
void emit_dot_scaled(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
