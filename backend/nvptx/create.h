// Tiles and scalars without operands: program ids, constants and ranges.
#pragma once
#include "backend/nvptx/emitter.h"
#include "backend/nvptx/index_arithmetic.h"

namespace tilewright::backend::nvptx {

void emit_program_id(Emitter&, OpId);
void emit_num_programs(Emitter&, OpId);
void emit_constant(Emitter&, IndexArithmetic&, OpId);
/// Defines the registers of the range as affine expressions.
void emit_arange(Emitter&, IndexArithmetic&, OpId);

}  // namespace tilewright::backend::nvptx
