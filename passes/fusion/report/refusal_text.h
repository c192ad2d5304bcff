// Explains, in the user's terms, why a formula needs another pass.
#pragma once
#include <string>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// "not fused: ... (file:line) ... because ... (file:line) ...".
std::string refusal_text(const graph::Graph&, const ExprPool&, const LoopPlan&, const Refusal&);

}  // namespace tilewright::passes::fusion
