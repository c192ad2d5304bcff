// Fits the operands of matrix products into shared memory.
#pragma once
#include "passes/fusion/tiles/tile_sizes.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Halves tiles until both operands of each product fit into a program's shared memory, each twice, since the next tile is loaded while one
/// is multiplied. Returns false if tiles cannot be halved enough.
bool fit_operands(TileSizes&, const LoopPlan&, const ExprBuilder&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
