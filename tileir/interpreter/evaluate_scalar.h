// Evaluates one element-wise op on scalars.
#pragma once
#include <cstdint>
#include <span>

#include "tileir/op_info.h"
#include "tileir/type.h"

namespace tilewright::ir {

/// Evaluates one element-wise op on one lane; constant folding and the interpreter share it. `operands` are bits, with their types. cast
/// and bitcast take the result's type from `result`.
std::uint64_t evaluate_scalar(OpKind, std::span<const Type> operand_types, std::span<const std::uint64_t> operands, Type result);

}  // namespace tilewright::ir
