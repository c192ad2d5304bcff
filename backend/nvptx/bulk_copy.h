// Tensor maps and bulk copies.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_make_tensor_map(Emitter&, OpId);
void emit_mbarrier_expect(Emitter&, OpId);
void emit_bulk_copy(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
