// Chooses how many positions of each axis a program handles at once.
#pragma once
#include "passes/fusion/tiles/tile_sizes.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// is_batch_invariant: tiles in which sums are computed do not depend on the number of rows (plan_rows.h).
TileSizes choose_tiles(const LoopPlan&, const ExprBuilder&, const ir::TargetDesc&, bool is_batch_invariant = false);

/// The reductions of the outputs, and those that forms add.
std::vector<Expr> computed_reductions(const LoopPlan&);

}  // namespace tilewright::passes::fusion
