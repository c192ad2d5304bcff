// Alternatives among which the cover chooses, and the words with which reports compare them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/fit_tiling.h"
#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// The estimated time of several kernels together.
struct Seconds {
  double typical = 0, if_large = 0;  // as in KernelCost
  explicit Seconds(const KernelCost& c = {}) : typical(c.seconds), if_large(c.seconds_if_large) {}
  Seconds& operator+=(const Seconds& s) { return typical += s.typical, if_large += s.if_large, *this; }
};

/// One alternative to compute an output: a loop, and the values that other kernels store before it.
struct Alternative {
  std::string strategy;  // its name, as explain() prints it
  std::optional<LoopPlan> plan;
  FittedTiling tiling;
  ExprMap stored;
  KernelCost cost;
  Seconds of_stored;           // the time to compute and store the values that it reads
  double least_of_stored = 0;  // the seconds of these values, each with the alternative that takes the least time, however much it stores
  bool is_emitted = false;     // the tiles and the cost are final, and the plan was checked
  ProofResult proof;
  std::string comparison;  // the comparison with the next best alternative, for reports

  double seconds() const { return cost.seconds + of_stored.typical; }
  double least_seconds() const { return cost.seconds + least_of_stored; }
  double seconds_if_large() const { return cost.seconds_if_large + of_stored.if_large; }
};

/// The stored values, sorted by key.
std::vector<Expr> sorted_values(const ExprMap& stored);

/// The names of the chosen strategy and of the next best one, and what the other one would have cost.
std::string comparison(const Alternative& chosen, const Alternative& other);

}  // namespace tilewright::passes::fusion
