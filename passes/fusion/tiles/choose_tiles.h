// Chooses how many positions of each axis a program handles at once.
#pragma once
#include "passes/fusion/emit/kernel_emitter.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// is_batch_invariant: ignore extents of axes distributed over the grid, so that a row's sums do not depend on the number of rows.
TileSizes choose_tiles(const Plan&, const ExprBuilder&, const ir::TargetDesc&, bool is_batch_invariant = false);

/// The reductions of the outputs, and those that forms add.
std::vector<Expr> computed_reductions(const Plan&);

/// The number of positions of an axis that a program handles at once.
std::int64_t tile_of(Axis, const Plan&, const TileSizes&);

/// The largest tile of the grid; of equal ones, that of the axis whose name comes first. Null if there is none.
std::int64_t* largest_grid_tile(TileSizes&);

/// Axes of reductions that are longer than this are walked in a loop.
inline constexpr std::int64_t kMostWholeExtent = 256;
/// Matrix instructions have at least 16 rows, and contract at least 16 positions.
inline constexpr std::int64_t kLeastOfMatrix = 16;

}  // namespace tilewright::passes::fusion
