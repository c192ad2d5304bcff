// Two elements of 16 bits in one instruction: arithmetic of f16 and bf16 on neighbouring registers, and casts to them from f32. Such pairs
// usually come from or go to one word of memory, so that packing and unpacking need no instructions.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// Lowers an element-wise op on pairs of registers, if the target has an instruction for it. Returns false if nothing was emitted.
bool emit_pairs(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
