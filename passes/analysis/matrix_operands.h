// Which loads fetch operands of products.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a load in a loop is an operand of a matrix instruction, or of a dot that is short enough to be unrolled, perhaps permuted: then
/// it becomes an asynchronous copy to shared memory.
bool is_matrix_operand(const Function&, OpId load, int num_warps);

/// Whether a thread has so few multiply-adds of a dot that they need no loop over K.
bool is_unrolled(const Function&, OpId dot, int num_warps);

}  // namespace tilewright::passes
