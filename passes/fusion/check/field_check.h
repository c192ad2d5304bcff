// Checks a plan against the formulas that it computes, exactly, at random points of a finite field (field.h).
//
//   1. is_running: scans give the same tile by tile.
//   2. draw_complete_values: the complete value of each reduction is a random number.
//   3. run_pass: the loop runs as a whole (walk), then in three parts whose states are merged (update), of which one is empty.
//   4. compare: what the accumulators give must be what the definition of each reduction gives.
//   5. add_unmodelled: what has no law in the field is left to the comparison with the graph (instance_check.h).
//
// The loop follows the steps that are emitted (pass_state.h): tile by tile, in several states that are merged, each time with new random
// references, and at the end with the complete values as references. Then every sum must equal its definition. Since any reference is
// valid, the loop need not compute maxima; the values that they combine and their factors are compared as for sums.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/fusion/derivation_failed.h"
#include "passes/fusion/plan/loop_plan.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

struct ProofResult {
  bool exact = true;
  /// Whether a mistake was found; then the plan must not run.
  bool is_refuted = false;
  int rounds = 0;
  /// log2 of the probability that a wrong plan passes.
  double log2_error = 0;
  /// The difference that was found, or why there was nothing to check.
  std::string text;
  /// The parts that the check does not cover, one sentence for each.
  std::vector<std::string> left_open;
};

/// `rounds`: number of random points. At each one, a wrong plan passes with a probability of about 2^-54. Stops at the first mistake.
ProofResult check_plan(const ExprBuilder&, const LoopPlan&, int rounds = kRoundsOfCheck, std::uint64_t seed = 1);

/// The check that each plan must pass; none: check_plan. Tests replace it to refuse plans.
using PlanCheck = std::function<ProofResult(const ExprBuilder&, const LoopPlan&)>;
ProofResult check_by(const PlanCheck&, const ExprBuilder&, const LoopPlan&);

/// Thrown if no plan of a formula passes its check.
struct PlanRefuted : DerivationFailed {
  explicit PlanRefuted(const std::string& difference) : DerivationFailed("the check of its kernels failed: " + difference) {}
};

/// The maxima that are only references: no output changes if they take another value. This may miss some, as LoopPlan::is_only_reference may.
std::vector<Expr> unobserved_maxima(const LoopPlan&, std::uint64_t seed = 1);

}  // namespace tilewright::passes::fusion
