// Checks a plan against the formulas that it computes, exactly, at random points of a finite field (field.h).
//
// The loop runs by the steps that are emitted (absorb.h): tile by tile, in several states that are merged, each time with new random
// references, and last with the complete values as references. Every sum must then be what its definition gives. Since any reference is
// right, the loop need not keep maxima; that what they combine and their factors give the maximum is compared as for sums.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/plan/plan.h"

namespace tilewright::passes::fusion {

struct ProofResult {
  bool exact = true;
  /// A mistake was found: the plan must not run.
  bool is_refuted = false;
  int rounds = 0;
  /// The logarithm to the base 2 of the probability that a wrong plan passes.
  double log2_error = 0;
  /// What differs, or why there was nothing to check.
  std::string text;
  /// What the check does not cover, one sentence each.
  std::vector<std::string> left_open;
};

/// `rounds`: of random points. Each makes a wrong plan pass with a probability of about 2^-54. Stops at the first that finds a mistake.
ProofResult check_plan(const ExprBuilder&, const Plan&, int rounds = 2, std::uint64_t seed = 1);

/// What is thrown where no plan of a formula passes its check.
struct PlanRefuted {
  std::string text;
};

/// The maxima that are only references: no output changes when they take another value. A lower bound, as Plan::is_only_reference is.
std::vector<Expr> unobserved_maxima(const Plan&, std::uint64_t seed = 1);

}  // namespace tilewright::passes::fusion
