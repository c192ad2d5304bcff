// Gives reductions unique axes if a value also has the axis that they bind.
#pragma once
#include <unordered_map>

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
  Expr renamed(Expr, Axis);
  ExprMap renamed_reductions(Expr, Axis);
  Axis own(Axis);

  ExprBuilder& b_;
  AxisMap<Axis> own_;
  // Strategies that store the same, and other loops, ask for the same values.
  std::unordered_map<Expr, AxisMap<Expr>, ExprHash> renamed_;
};

}  // namespace tilewright::passes::fusion
