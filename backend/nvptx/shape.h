// Ops that change the shape of a tile. flip sends elements to other threads and is therefore in convert_layout.h.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_reshape(Emitter&, OpId);
void emit_broadcast(Emitter&, OpId);
void emit_permute(Emitter&, OpId);
void emit_join(Emitter&, OpId);
void emit_split(Emitter&, OpId);
void emit_cat(Emitter&, OpId);
void emit_extract_slice(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
