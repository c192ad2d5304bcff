// Chooses how many positions of each axis a program has at once.
#pragma once
#include <functional>

#include "passes/fusion/emit/kernel_emitter.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// is_batch_invariant: not by the extents of axes that programs share out, so that a row's sums have one order however many rows there are.
TileSizes choose_tiles(const Plan&, const ExprBuilder&, const ir::TargetDesc&, bool is_batch_invariant = false);

/// Emits with these tiles; halves those of the grid and of the loop, then those of other reductions, until every tile of the kernel is
/// within the limits. Throws TileTooLarge if there is none to halve.
EmittedKernel emit_within_limits(TileSizes&, const std::function<EmittedKernel()>& emit);

/// Axes of reductions that are longer than this are walked in a loop.
inline constexpr std::int64_t kMostWholeExtent = 256;

}  // namespace tilewright::passes::fusion
