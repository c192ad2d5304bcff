// The options of a derivation: what the user allows, and limits.
#pragma once
#include <cstdint>

#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

struct FusionOptions {
  bool fuse = true, reassociate = true, move_rounding = true, deterministic = true, batch_invariant = false;
  std::uint64_t max_workspace = UINT64_MAX;
  /// False: kernels are not emitted, and have the tiles that their plans suggest, whether or not these fit into registers; for estimates.
  bool emit = true;
  /// Steps (steps.h) that a derivation may take for each operation; segments that take more are cut.
  std::uint64_t steps_of_operation = kStepsOfOperation;
};

}  // namespace tilewright::passes::fusion
