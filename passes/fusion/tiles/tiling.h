// The tiles of a plan's kernel and the parts of its loop: the emitter and the estimates use it.
#pragma once
#include <optional>

#include "passes/fusion/emit/kernel_emitter.h"
#include "passes/fusion/program/program.h"
#include "passes/fusion/tiles/split_loop.h"

namespace tilewright::passes::fusion {

struct Tiling {
  TileSizes sizes;
  SplitChoice split;
  bool fits = true;                // operands of products fit into shared memory, and all tiles are within the limits of tile IR
  std::int64_t spilled_words = 0;  // words that a program holds at once beyond its registers
  /// The kernel with the whole loop, after it was emitted.
  std::optional<EmittedKernel> kernel;
};

/// Chooses by the plan alone: the number of registers is not known yet.
Tiling choose_tiling(ExprBuilder&, const Plan&, const ir::TargetDesc&, const ProgramOptions&);

/// Emits the kernel, with smaller tiles if it does not fit. There is no kernel if even the smallest tiles exceed the limits of tile IR.
Tiling fit_tiling(ExprBuilder&, const Plan&, const ir::TargetDesc&, const ProgramOptions&);

}  // namespace tilewright::passes::fusion
