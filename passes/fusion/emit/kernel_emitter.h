// Emits the kernel of a plan in tile IR.
//
//   for each program: start positions of its axes from the program id
//   for each pass:    for each tile of the loop's axis:
//                       for each reduction, what it needs first:
//                         reference of the exponents = the value so far; accumulators move to it and add the tile's contribution
//                     the reductions of the pass are complete
//   outputs are stored; those that vary along the loop's axis in the last pass
//
//   1. open: parameters, and the start positions of the program (program_grid.h).
//   2. emit_pass: for each pass, estimate_shifts computes references from the first tile; emit_loop updates the state tile by tile
//      (state_emitter.h), within the bounds that masks give; complete computes the reductions from the accumulators (pass_emitter.h).
//   3. store_outputs: outputs that do not vary along the loop's axis; the others are stored in the last pass.
//
// A loop that several programs divide among them becomes two kernels: the first one (emit_part) stores the state of each part of the loop,
// the second one (emit_merge) merges the states of all parts and continues like a kernel after a whole loop.
#pragma once
#include <map>
#include <string>

#include "passes/fusion/emit/emission_failed.h"
#include "passes/fusion/kernel_types.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tile_sizes.h"
#include "tileir/ir.h"

namespace tilewright::passes::fusion {

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

/// Throws TileTooLarge if a tile would exceed the limits of tile IR, and CircularValue.
EmittedKernel emit_kernel(const std::string& name, ExprBuilder&, const LoopPlan&, const TileSizes&);
/// The two kernels of a divided loop. `at_once`: how many states the second one merges at a time, a power of two.
EmittedKernel emit_part_kernel(const std::string& name, ExprBuilder&, const LoopPlan&, const TileSizes&, const SplitLoop&);
EmittedKernel emit_merge_kernel(const std::string& name, ExprBuilder&, const LoopPlan&, const TileSizes&, const SplitLoop&,
                                std::int64_t at_once);

/// The axes of accumulators in the order of the outputs, with the contiguous axis last.
std::vector<Axis> accumulator_order(const LoopPlan&, const TileSizes&);

}  // namespace tilewright::passes::fusion
