// Distributes axes over the programs of a kernel.
#pragma once
#include <map>
#include <vector>

#include "passes/fusion/emit/emit_context.h"
#include "passes/fusion/kernel_types.h"

namespace tilewright::passes::fusion {

/// Gives each axis a tile of this size in the outermost scope, whose start is computed from the program ids, and adds the axis to a
/// dimension of the grid. For axes in `kept`, there is a program even if the axis has no positions. Programs that follow each other differ
/// in their positions along the other axes with tiles before they differ along `columns`.
void distribute_over_grid(EmitContext&, const AxisMap<std::int64_t>& sizes, const AxisSet& kept, Axis columns,
                          std::vector<GridFactor> (&grid)[3]);

}  // namespace tilewright::passes::fusion
