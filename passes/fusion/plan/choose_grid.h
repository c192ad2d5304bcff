// Chooses the axes that are distributed over the grid.
//
// A free axis is distributed if the parts that lack it are cheap to repeat: they contain no product, and read nothing that is not also read
// along the axis, or that has fewer axes than such a read.
#pragma once
#include <span>
#include <vector>

#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/plan/accumulators.h"

namespace tilewright::passes::fusion {

/// The axes that are distributed over the grid, and what each program holds then.
struct GridChoice {
  AxisSet grid;
  AxisSet payload;      // free axes that every program holds completely
  double cells = 0;     // elements of accumulators for each point of the grid
  double resident = 0;  // positions of inner reductions that are held at once
  double after = 0;     // positions of reductions that are computed after the loop
};

/// The choice for a kernel with this loop (null: none), and with its reductions over it. complete: the values of reductions and scans that
/// the loop computes.
GridChoice choose_grid(const std::vector<KernelOutput>& outputs, Axis loop, std::span<const Reduction>, std::span<const Accumulator>,
                       std::span<const Expr> complete);

}  // namespace tilewright::passes::fusion
