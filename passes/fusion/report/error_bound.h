// Bounds for the rounding errors of a kernel's sums.
//
//   |error of a sum| <= additions u sum of |terms| + moves (u + e) |accumulators|
//
// u is the rounding unit of the accumulator, e the relative error of exp. Tiles are summed first, then added to the sum so far, and the
// sums of parts are added to each other: a term takes part in as many additions as a tile has terms, and in one for each later tile and
// part. A matrix product adds its terms to the sum so far one by one: a term takes part in an addition for each later position of its part.
// Each tile may move the reference, which multiplies the accumulator by a rounded exp. The terms are those that the kernel computes; their
// own errors, from the operations of the formula, come on top.
//
// A reduction that is the sum of several accumulators T_i with factors c_i may be smaller than each c_i T_i: sum|c_i terms_i| counts the
// terms of all of them with their factors. Plans use such a sum only if these terms are as small as those of the formula (forms.h).
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/expr/normal_form.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/tiles/tile_sizes.h"

namespace tilewright::passes::fusion {

struct SumBound {
  Expr reduction;
  Dim extent;                     // extent of the loop's axis
  std::int64_t per_step = 1;      // positions of the loop's axis that all parts together handle at a time
  std::int64_t per_addition = 1;  // positions of which all parts together add the terms to their sums at once: one each in a matrix product
  Dim beside = 1;                 // additions beside these in one part: those of the terms of a tile
  std::int64_t parts = 1;
  int parts_of_sum = 1;  // the number of accumulators, with a factor each, whose sum it is
  bool moves = false;
  double unit = 0, exp_error = 0;

  /// With typical values of the symbols of the other axes.
  double additions(std::int64_t extent_of_loop) const;
  double reference_changes(std::int64_t extent_of_loop) const;
};

/// The bounds of the sums over the loop's axis.
std::vector<SumBound> sum_bounds(const ExprBuilder&, const LoopPlan&, const TileSizes&, std::int64_t parts);

/// A line for each bound, with the bound of the unfused formula beside it; sums with equal bounds share a line.
std::string error_text(const LoopPlan&, const std::vector<SumBound>&);

}  // namespace tilewright::passes::fusion
