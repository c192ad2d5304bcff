// Finds masks that only the last iteration of a loop needs: those of a range that the loop's tiles cover.
//
//   for k = 0 to K step 32: load a + k + j, k + j < K  (j = 0 ... 31)      all-true if iteration k + 32 exists, that is if k + 32 < K
//   for i = 0 to ceil(K / 32): load a + 32 i + j, j < K - 32 i             all-true if iteration i + 1 exists
#pragma once
#include <optional>

#include "passes/ir_names.h"

namespace tilewright::passes {

/// A scalar that a loop carries and advances by the same step in each iteration: its value in iteration t is init + t * step.
struct Induction {
  ValueId init, step;
};
/// The induction that carried value k of a for is; none if it does not advance by a constant step.
std::optional<Induction> induction_of(const Function&, OpId loop, int k);

/// Whether a mask is all-true in every iteration of the loop (a for) except the last one. Proven for comparisons low < high in which the
/// varying part of low - high is a multiple of the counter plus an arange, and the loop's upper bound is `high`, or the quotient of `high`
/// and a constant, rounded up.
bool holds_before_last(const Function&, OpId loop, ValueId mask);

}  // namespace tilewright::passes
