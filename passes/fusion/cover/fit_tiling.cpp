// Emits kernels with smaller and smaller tiles, until their values fit into registers.
#include "passes/fusion/cover/fit_tiling.h"

#include <utility>

#include "passes/fusion/cover/limits.h"

namespace tilewright::passes::fusion {

FittedTiling fit_tiling(ExprBuilder& b, const LoopPlan& plan, Tiling chosen, const ir::TargetDesc& target, const FusionOptions& options) {
  FittedTiling tiling{std::move(chosen), {}};
  if (!options.emit) return tiling;
  bool is_smaller = true;
  try {
    LimitedKernel limited = emit_within_limits(tiling.sizes, target, [&] { return emit_kernel("", b, plan, tiling.sizes); });
    tiling.spilled_words = limited.spilled_words;
    is_smaller = limited.has_smaller_tiles;
    tiling.kernel = std::move(limited.kernel);
  } catch (const TileTooLarge&) {
    tiling.is_within_ir = false;
  }
  // Smaller tiles mean more programs. On hosts, dividing the loop may change the tiles.
  if (is_smaller && target.is_gpu()) choose_parts(tiling, b, plan, target, options);
  return tiling;
}

}  // namespace tilewright::passes::fusion
