// Whether a program can tell the weights of a softmax from the same weights times one factor for each row.
#pragma once
#include <utility>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a factor that all weights of a row have, near 1, is in no result: sums of the weights and of their products are only rescaled,
/// carried by loops, divided by each other, and compared with 0. The logarithm of a sum that is added to the maximum counts too: the factor
/// comes from rounding a multiple of it. `reference`: what exponents subtract, a maximum or the running maximum of one or several loops, or
/// 0 in its place where it is -infinity; the weights are all exponentials of differences from it.
bool is_row_factor_hidden(const Function&, ValueId reference);

/// The value that a running maximum starts with, as a name of all its values: the first loop and the number of what that carries. For
/// another value its own op.
std::pair<OpId, int> origin_of_maximum(const Function&, ValueId);

}  // namespace tilewright::passes
