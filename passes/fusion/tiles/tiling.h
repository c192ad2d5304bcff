// The tiles of a plan's kernel and the parts of its loop: what is emitted, and what estimates count.
#pragma once
#include <optional>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/program/program.h"
#include "passes/fusion/tiles/split_loop.h"

namespace tilewright::passes::fusion {

struct Tiling {
  TileSizes sizes;
  SplitChoice split;
  bool fits = true;                // the operands of products into shared memory, and all tiles into the limits of tile IR
  std::int64_t spilled_words = 0;  // of what a program holds at once, those that are more than registers
  /// The kernel with the whole loop, once it is emitted.
  std::optional<EmittedKernel> kernel;
};

/// By the plan alone: the registers of the kernel are not known.
Tiling choose_tiling(ExprBuilder&, const Plan&, const ir::TargetDesc&, const ProgramOptions&);

/// Emits the kernel, with smaller tiles if it does not fit. There is no kernel if tile IR has no tiles that are small enough.
Tiling fit_tiling(ExprBuilder&, const Plan&, const ir::TargetDesc&, const ProgramOptions&);

}  // namespace tilewright::passes::fusion
