// Finds the tiles of a kernel by emitting it: the one place where a choice waits for emitted code, whose registers it counts.
#pragma once
#include <optional>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/tiles/tiling.h"

namespace tilewright::passes::fusion {

struct FittedTiling : Tiling {
  /// The kernel with the whole loop, after it was emitted.
  std::optional<EmittedKernel> kernel;
};

/// Emits the kernel with the chosen tiles, or with smaller ones if it does not fit. There is no kernel if even the smallest tiles exceed the
/// limits of tile IR. With FusionOptions::emit false, the chosen tiles are taken to fit.
FittedTiling fit_tiling(ExprBuilder&, const LoopPlan&, Tiling chosen, const ir::TargetDesc&, const FusionOptions&);

}  // namespace tilewright::passes::fusion
