// Finds values to store between reshapes that divide positions.
//
//   [24, 105] -> [40, 63] -> transposed -> [24, 105] -> ...
//
// The axes of these tensors have no parts in common, so an element of the result is read at a position that is divided by extents, and the
// position in the operand before it is divided again. After many such reshapes it takes longer to find an element than to copy it, and to
// compile the formula of its position.
#pragma once
#include <functional>
#include <set>
#include <string>

#include "passes/fusion/translate/axes.h"

namespace tilewright::passes::fusion {

/// The fewest values so that there are at most kMostDivisions operands with axes of their own (AxisAnalysis::is_detached) on each path to a
/// result from memory and from these values. Those for which may_be_stored is false are not among them.
std::set<graph::NodeId> values_between_divisions(const graph::Graph&, const AxisAnalysis&,
                                                 const std::function<bool(graph::NodeId)>& may_be_stored);

/// "not fused: permute_3 (views.cpp:12) is stored, because more than 8 reshapes in a row divide positions".
std::string divided_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
