// Sorting of rows.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_sort(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
