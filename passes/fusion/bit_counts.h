// Ops that count bits of their operand: their result is an i32, whatever the type of the operand is.
#pragma once
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion {

inline bool counts_bits(ir::OpKind op) { return op == ir::OpKind::popcount_ || op == ir::OpKind::clz_ || op == ir::OpKind::ffs_; }

}  // namespace tilewright::passes::fusion
