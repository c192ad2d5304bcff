// Fits the operands of matrix products into shared memory.
#pragma once
#include "passes/fusion/emit/kernel_emitter.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Halves tiles until both operands of each product fit into the shared memory of a program, each twice: the next tile is on its way while
/// one is multiplied. False if they cannot be halved so far.
bool fit_operands(TileSizes&, const Plan&, const ExprBuilder&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
