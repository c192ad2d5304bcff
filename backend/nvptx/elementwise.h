// Element-wise ops and conversions.
#pragma once
#include "backend/nvptx/division.h"
#include "backend/nvptx/emitter.h"
#include "backend/nvptx/index_arithmetic.h"

namespace tilewright::backend::nvptx {

/// Lowers every op of the families unary, binary, ternary and convert.
void emit_elementwise(Emitter&, IndexArithmetic&, UniformDivision&, OpId);

}  // namespace tilewright::backend::nvptx
