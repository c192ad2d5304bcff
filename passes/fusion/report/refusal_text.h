// Why a formula takes a further pass, in the user's terms.
#pragma once
#include <string>

#include "passes/fusion/plan/plan.h"

namespace tilewright::passes::fusion {

/// "not fused: ... (file:line) ... because ... (file:line) ...".
std::string refusal_text(const graph::Graph&, const ExprPool&, const Plan&, const Refusal&);

}  // namespace tilewright::passes::fusion
