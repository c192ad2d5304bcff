// Ops whose elements are addressed by values; they go through shared memory.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_gather(Emitter&, OpId);
void emit_histogram(Emitter&, OpId);

/// Reads the elements at these flat indices through shared memory at byte `shared`. Requires: no thread still reads that memory.
Registers load_elements_from_shared(Emitter&, Type element, const Registers&, const LinearLayout& from, std::span<Value* const> flat,
                                    std::int64_t shared);

}  // namespace tilewright::backend::nvptx
