// Recognises reductions by one op, such as the maximum and the sum of a softmax.
#pragma once
#include <initializer_list>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// The value that reshapes give v from; v itself if none does.
ValueId before_reshapes(const Function&, ValueId v);
/// m of select(m == -infinity, 0, m), what exponents of a row subtract whose scores may all be -infinity; v itself if it is no such select.
/// Reshapes before v, and before m, are left out.
ValueId maximum_of_reference(const Function&, ValueId v);
/// The reduce op of one tile that v is the result of, reshapes aside, if it combines elements by an op of one of these kinds; else none.
OpId reduction_by(const Function&, ValueId v, std::initializer_list<OpKind> kinds);

}  // namespace tilewright::passes
