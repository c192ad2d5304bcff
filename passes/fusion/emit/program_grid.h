// Distributes axes over the programs of a kernel.
#pragma once
#include <map>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/kernel_types.h"

namespace tilewright::passes::fusion {

/// Gives each axis a tile of this size in the outermost scope, computes the start of the tile from the program ids, and adds the axis to a
/// dimension of the grid. For axes in `kept`, there is a program even if the axis has no positions. `columns`, if there is one, varies more
/// slowly than the other axes with tiles: programs with consecutive ids first differ in the others.
void distribute_over_grid(EmitContext&, const AxisMap<std::int64_t>& sizes, const AxisSet& kept, Axis columns,
                          std::vector<GridFactor> (&grid)[3]);

}  // namespace tilewright::passes::fusion
