// Finds loads that fetch operands of products.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a load in a loop is, possibly permuted, an operand of a matrix instruction or of a dot that is short enough to be unrolled: then
/// it becomes an asynchronous copy to shared memory.
bool is_matrix_operand(const Function&, OpId load, int num_warps);

/// Whether a thread has few enough multiply-adds in a dot to do without a loop over K.
bool is_unrolled(const Function&, OpId dot, int num_warps);

}  // namespace tilewright::passes
