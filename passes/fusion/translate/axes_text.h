// The axes of a graph's tensors as text for tests.
#pragma once
#include <string>

#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

/// A line for each axis, with its extent and the tensors that it joins; then one for each tensor, with the axes of each of its dimensions:
/// "x: [n] [x1_0 x1_1]". The names of the axes are those that formulas have.
std::string axes_text(const graph::Graph&, const AxisAnalysis&, const GraphToExprs&);

}  // namespace tilewright::passes::fusion
