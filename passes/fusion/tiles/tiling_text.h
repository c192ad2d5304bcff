// The tiles of a kernel, and a loop that programs divide among them, as text for tests.
#pragma once
#include <string>

#include "passes/fusion/tiles/split_loop.h"
#include "passes/fusion/tiles/tiling.h"

namespace tilewright::passes::fusion {

/// How many positions of each axis a program has at once, the positions of the loop to which its masks confine it, and the warps.
std::string tiles_text(ExprBuilder&, const LoopPlan&, const TileSizes&, const ir::TargetDesc&);

/// What each part of a divided loop stores: its accumulators, and the references at which they are.
std::string states_text(const LoopPlan&, const SplitLoop&);

}  // namespace tilewright::passes::fusion
