// Gives reductions unique axes if a value also has the axis that they bind.
#pragma once
#include <map>

#include "passes/fusion/expr/normal_form.h"

namespace tilewright::passes::fusion {

/// x[n] + sum over n of x[n]^2 becomes x[n] + sum over n' of x[n']^2: then n can be distributed over the grid, and each program computes
/// the sum. Reductions over the axis of the kernel's loop are not renamed.
class UniqueBoundAxes {
 public:
  explicit UniqueBoundAxes(ExprBuilder& b) : b_(b) {}
  /// Returns the same expression if there is no such reduction.
  Expr apply(Expr value, Axis loop);

 private:
  ExprMap renamed_reductions(Expr, Axis);
  Axis own(Axis);

  ExprBuilder& b_;
  AxisMap<Axis> own_;
};

}  // namespace tilewright::passes::fusion
