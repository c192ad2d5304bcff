// Scans.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_scan(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
