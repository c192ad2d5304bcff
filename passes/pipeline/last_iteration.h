// Masks that only the last iteration of a loop needs: those of a range that the loop's tiles cover.
//
//   for k = 0 to K step 32: load a + k + j, k + j < K  (j = 0 ... 31)      all-true if iteration k + 32 exists, that is if k + 32 < K
//   for i = 0 to ceil(K / 32): load a + 32 i + j, j < K - 32 i             likewise
#pragma once
#include <optional>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// A scalar that a loop carries and advances by the same step in each iteration: its value in iteration t is init + t * step.
struct Induction {
  ValueId init, step;
};
/// Of carried value k of a for; none if it is no such scalar.
std::optional<Induction> induction_of(const Function&, OpId loop, int k);

/// Whether a mask is all-true in every iteration of the loop (a for) but the last. Proven for comparisons low < high, where the part of
/// low - high that varies is a multiple of the counter plus an arange, and the loop's upper bound is `high`, or the quotient of `high`
/// and a constant, rounded up.
bool holds_before_last(const Function&, OpId loop, ValueId mask);

}  // namespace tilewright::passes
