// Emits the kernel of a plan in tile IR.
//
//   for each program: start positions of its axes from the program id
//   for each pass:    for each tile of the loop's axis:
//                       for each reduction, what it needs first:
//                         reference of the exponents = the value so far; accumulators move to it and absorb the tile's contribution
//                     the reductions of the pass are complete
//   outputs are stored; those that vary along the loop's axis in the last pass
//
// A loop that several programs divide among them becomes two kernels: the first one stores the state of each part of the loop, the second
// one merges the states of all parts and continues like a kernel after a whole loop.
#pragma once
#include <map>
#include <string>

#include "passes/fusion/plan/plan.h"
#include "passes/fusion/program/program.h"
#include "passes/fusion/tiles/split_loop.h"

namespace tilewright::passes::fusion {

/// How many positions of each axis a program handles at once: powers of two.
struct TileSizes {
  AxisMap<std::int64_t> grid;  // axes that are distributed over the grid
  std::int64_t loop = 1;
  AxisMap<std::int64_t> payload;  // at least the extent
  struct Inner {
    std::int64_t size;
    bool is_looped;  // the size is less than the extent
  };
  AxisMap<Inner> inner;  // axes of reductions, except the loop's
  int num_warps = 4, num_stages = 0;
  bool has_exp2 = false;  // exp2 is an instruction of the target
  /// Lanes of a host's vectors, along the last axis of a tile; 1: all axes are equally good.
  std::int64_t lanes = 1;
  /// Whether an axis with a tile of this size leaves half of a vector's lanes idle, while one of `others` positions does not.
  bool is_short(std::int64_t tile, std::int64_t others) const { return 2 * tile <= lanes && others >= lanes; }
};

struct EmittedKernel {
  ir::Function function;
  std::vector<Tensor> writes;
  struct Parameter {
    Tensor tensor;  // null: an extent
    Dim extent;
  };
  std::vector<Parameter> parameters;
  std::vector<GridFactor> grid[3];
};

/// Throws TileTooLarge (tile_values.h) if a tile would exceed the limits of tile IR.
EmittedKernel emit_kernel(const std::string& name, ExprBuilder&, const Plan&, const TileSizes&);
/// The two kernels of a divided loop. `at_once`: how many states the second one merges at a time, a power of two.
EmittedKernel emit_part_kernel(const std::string& name, ExprBuilder&, const Plan&, const TileSizes&, const SplitLoop&);
EmittedKernel emit_merge_kernel(const std::string& name, ExprBuilder&, const Plan&, const TileSizes&, const SplitLoop&,
                                std::int64_t at_once);

/// The axes of accumulators in the order of the outputs, with the contiguous axis last.
std::vector<Axis> accumulator_order(const Plan&, const TileSizes&);

}  // namespace tilewright::passes::fusion
