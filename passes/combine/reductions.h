// Recognises reductions by one op, such as the maximum and the sum of a softmax.
#pragma once
#include <initializer_list>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// The value before a chain of reshapes that ends in v; v itself if it is not a reshape.
ValueId before_reshapes(const Function&, ValueId v);
/// Returns m for v = select(m == -infinity, 0, m), which exponents subtract in rows whose scores may all be -infinity, and v for any other
/// v. Reshapes before v and before m are skipped.
ValueId maximum_of_reference(const Function&, ValueId v);
/// The reduce of one tile whose result is v, apart from reshapes, if it combines elements by an op of one of these kinds; else none.
OpId reduction_by(const Function&, ValueId v, std::initializer_list<OpKind> kinds);

}  // namespace tilewright::passes
