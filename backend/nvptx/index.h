// Ops whose elements are addressed by values: through shared memory.
#pragma once
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

void emit_gather(Emitter&, OpId);
void emit_histogram(Emitter&, OpId);

/// Elements of a tile by flat index, through shared memory from byte `shared` on. Requires: no thread still reads there.
Registers load_elements_from_shared(Emitter&, Type element, const Registers&, const LinearLayout& from, std::span<Value* const> flat,
                                    std::int64_t shared);

}  // namespace tilewright::backend::nvptx
