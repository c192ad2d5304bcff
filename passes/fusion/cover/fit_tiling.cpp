// Chooses tiles, fits them to the target, and divides the loop.
#include "passes/fusion/tiles/tiling.h"

#include "passes/fusion/cover/limits.h"
#include "passes/fusion/emit/tile_values.h"
#include "passes/fusion/tiles/choose_tiles.h"
#include "passes/fusion/tiles/operand_tiles.h"

namespace tilewright::passes::fusion {

namespace {

void choose_parts(Tiling& tiling, ExprBuilder& b, const Plan& plan, const ir::TargetDesc& target, const ProgramOptions& options) {
  SplitLimits limits = split_limits(target);
  limits.is_batch_invariant = options.batch_invariant;
  limits.max_workspace = options.max_workspace;
  limits.may_divide = options.fuse && options.reassociate;
  tiling.split = choose_split(b, plan, tiling.sizes, limits);
}

}  // namespace

Tiling choose_tiling(ExprBuilder& b, const Plan& plan, const ir::TargetDesc& target, const ProgramOptions& options) {
  Tiling tiling;
  tiling.sizes = choose_tiles(plan, b, target, options.batch_invariant);
  tiling.fits = !target.is_gpu() || fit_operands(tiling.sizes, plan, b, target);
  choose_parts(tiling, b, plan, target, options);
  return tiling;
}

Tiling fit_tiling(ExprBuilder& b, const Plan& plan, const ir::TargetDesc& target, const ProgramOptions& options) {
  Tiling tiling = choose_tiling(b, plan, target, options);
  try {
    LimitedKernel limited = emit_within_limits(tiling.sizes, target, [&] { return emit_kernel("", b, plan, tiling.sizes); });
    tiling.spilled_words = limited.spilled_words;
    tiling.kernel = std::move(limited.kernel);
  } catch (const TileTooLarge&) {
    tiling.fits = false;
  }
  // Smaller tiles mean more programs. On hosts, dividing the loop may change the tiles.
  if (target.is_gpu()) choose_parts(tiling, b, plan, target, options);
  return tiling;
}

}  // namespace tilewright::passes::fusion
