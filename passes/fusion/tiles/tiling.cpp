// Chooses tiles, fits the operands of products, and divides the loop.
#include "passes/fusion/tiles/tiling.h"

#include "passes/fusion/tiles/choose_tiles.h"
#include "passes/fusion/tiles/operand_tiles.h"

namespace tilewright::passes::fusion {

Tiling choose_tiling(ExprBuilder& b, const LoopPlan& plan, const ir::TargetDesc& target, const FusionOptions& options) {
  Tiling tiling;
  tiling.sizes = choose_tiles(plan, b, target, options.batch_invariant);
  tiling.operands_fit = !target.is_gpu() || fit_operands(tiling.sizes, plan, b, target);
  choose_parts(tiling, b, plan, target, options);
  return tiling;
}

void choose_parts(Tiling& tiling, ExprBuilder& b, const LoopPlan& plan, const ir::TargetDesc& target, const FusionOptions& options) {
  SplitLimits limits = split_limits(target);
  limits.is_batch_invariant = options.batch_invariant;
  limits.max_workspace = options.max_workspace;
  limits.may_divide = options.fuse && options.reassociate;
  tiling.split = choose_split(b, plan, tiling.sizes, limits);
}

}  // namespace tilewright::passes::fusion
