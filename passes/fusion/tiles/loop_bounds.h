// Uses masks that compare positions as loop bounds: positions after a causal mask's diagonal, or before a window, are not visited.
#pragma once
#include <vector>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// A position that contributes to an accumulator is at most `rest`, or at least `-rest`.
struct LoopBound {
  bool is_upper;
  std::vector<Term> rest;
};

/// The bounds that hold for every accumulator of a pass.
std::vector<LoopBound> loop_bounds(ExprBuilder&, const LoopPlan&, const PassState&);

}  // namespace tilewright::passes::fusion
