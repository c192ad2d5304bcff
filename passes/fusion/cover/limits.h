// Keeps kernels within the limits of tile IR and of a target's registers.
#pragma once
#include <functional>

#include "passes/fusion/emit/kernel_emitter.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

struct LimitedKernel {
  EmittedKernel kernel;
  std::int64_t spilled_words = 0;  // 32-bit words that a program holds at once, beyond those that fit into registers
  bool has_smaller_tiles = false;  // the tiles are smaller than those that were given
};

/// Emits the kernel with these tiles, and makes tiles smaller until every tile is within the limits of tile IR and, on GPUs, the live tiles
/// fit into registers if possible. Chooses the number of warps. Throws TileTooLarge if no tile can be halved.
LimitedKernel emit_within_limits(TileSizes&, const ir::TargetDesc&, const std::function<EmittedKernel()>& emit);

}  // namespace tilewright::passes::fusion
