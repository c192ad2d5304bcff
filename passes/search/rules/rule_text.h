// The columns of a rule's line besides its equation.
#pragma once
#include "passes/search/rules/conditions.h"

namespace tilewright::passes::search {

/// The axes for which a rule does not hold, though one of its sides makes sense: "only b or only c has, is summed"; "-" if there are none.
std::string unless_text(const Rule&);

/// Whether a difference that may be exact is multiplied out from left to right. With numbers of both signs an addition cancels on the left,
/// and all that is multiplied there is zero; on the right, products that are not zero cancel.
bool spreads_differences(const Equation&);

}  // namespace tilewright::passes::search
