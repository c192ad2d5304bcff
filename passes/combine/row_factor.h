// Decides whether a program can distinguish the weights of a softmax from the same weights times one factor for each row.
#pragma once
#include <utility>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// Whether a factor near 1 that all weights of a row have is visible in no result: sums of the weights and of their products are only
/// rescaled, carried by loops, divided by each other, and compared with 0. Adding the logarithm of a sum to the maximum is allowed too,
/// since the factor comes from rounding a multiple of the maximum. `reference` is the value that exponents subtract. It is a maximum, or
/// the running maximum of one or several loops, or 0 instead of -infinity; the weights are all exponentials of differences from it.
bool is_row_factor_hidden(const Function&, ValueId reference);

/// Identifies a running maximum by the value it starts with: the first loop, and the index of the value that the loop carries. For another
/// value: the op that defines it.
std::pair<OpId, int> origin_of_maximum(const Function&, ValueId);

}  // namespace tilewright::passes
