// Roles and mbarriers.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_roles(Emitter&, OpId);
void emit_role_instance(Emitter&, OpId);
void emit_alloc_mbarriers(Emitter&, OpId);
void emit_mbarrier_slot(Emitter&, OpId);
void emit_mbarrier_arrive(Emitter&, OpId);
void emit_copy_arrive(Emitter&, OpId);
void emit_mbarrier_wait(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
