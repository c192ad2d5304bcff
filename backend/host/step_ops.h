// Ops that are a step of their own.
#pragma once
#include "backend/host/emitter.h"

namespace tilewright::backend::host {

// Declares void emit_flip(Emitter&, OpId) and so on: an op that is a step of its own reads whole operands, tiles from buffers and scalars
// as values, and writes its results in the same way. An op of the table without a definition does not link.
void emit_atomic(Emitter&, OpId);
#define TW_ELEMENTWISE_OP(name)
#define TW_OP_atomic(name)
#define TW_OTHER_OP(name) void emit_##name(Emitter&, OpId);
#include "tileir/dispatch.def"

}  // namespace tilewright::backend::host
