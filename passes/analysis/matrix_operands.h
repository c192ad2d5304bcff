// Which loads fetch operands of matrix instructions.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a load in a loop is an operand of a matrix instruction, perhaps permuted: then it becomes an asynchronous copy to shared memory.
bool is_matrix_operand(const Function&, OpId load);

}  // namespace tilewright::passes
