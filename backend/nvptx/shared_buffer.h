// Buffers in shared memory: views, stores, loads by ldmatrix or ld.shared, and asynchronous copies from global memory.
#pragma once
#include "backend/nvptx/bounds.h"
#include "backend/nvptx/emitter.h"

namespace tilewright::backend::nvptx {

// The value of a buffer is the address of its first byte: an i32.
void emit_alloc_buffer(Emitter&, OpId);
void emit_buffer_slot(Emitter&, OpId);
void emit_buffer_permute(Emitter&, OpId);
void emit_buffer_store(Emitter&, OpId);
void emit_buffer_load(Emitter&, OpId);
void emit_copy_async(Emitter&, BoundsCheck&, OpId);
void emit_async_commit(Emitter&, OpId);
void emit_async_wait(Emitter&, OpId);

}  // namespace tilewright::backend::nvptx
