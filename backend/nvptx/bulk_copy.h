// Tensor maps, bulk copies and bulk stores.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_make_tensor_map(Emitter&, OpId);
void emit_mbarrier_expect(Emitter&, OpId);
void emit_bulk_copy(Emitter&, OpId);
void emit_bulk_store(Emitter&, OpId);
void emit_bulk_commit(Emitter&, OpId);
void emit_bulk_wait(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
