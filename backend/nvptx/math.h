// Element-wise functions for which the GPU has one or a few instructions that keep the documented accuracy (passes/ACCURACY.md). All other
// ops are arithmetic that LLVM selects.
#pragma once
#include <span>

#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

/// Emits an element-wise op on one element by the target's instructions; null if the selection of lower_elementwise is as good.
Value* target_instruction(Emitter&, OpId, std::span<Value* const> operands);

}  // namespace tilewright::backend::nvptx
