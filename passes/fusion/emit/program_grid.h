// Shares axes out over the programs of a kernel.
#pragma once
#include <map>
#include <vector>

#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/program/program.h"

namespace tilewright::passes::fusion {

/// Gives each axis a tile of this size in the outermost scope, from a start that the program's ids give, and adds the axis to a dimension
/// of the grid. There is a program even where an axis of `kept` has no position.
void share_out(TileValues&, const AxisMap<std::int64_t>& sizes, const AxisSet& kept, std::vector<GridFactor> (&grid)[3]);

}  // namespace tilewright::passes::fusion
