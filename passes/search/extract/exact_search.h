// The cheapest selection, by branch and bound on the classes that several others can use.
//
// If each class had one user, the cheapest selection would be a shortest path. So only classes with several users are decided, one by one.
// A class is either in (its cost is paid once, and its users use it for free) or out (no user may use it). Until a class is decided, each
// possible user pays an equal part of its cost, which bounds the cost from below.
//
//   1. find_dominators: classes that every selection needs (the greatest fixed point) are in from the start.
//   2. find_components: the classes between them form components that have no undecided class in common; each is solved by itself.
//   3. relax: the shortest paths under the decisions so far give the bound, and a selection, which may be an improvement.
//   4. branch: on the class whose share differs most from its cost. If the selection is cyclic, one class of the cycle has another node, in
//      turn, and those before it in the cycle have theirs.
//   5. solve_together: if the selections of components form a cycle, all are solved at once.
#pragma once
#include "passes/search/extract/best_selections.h"

namespace tilewright::passes::search {

struct ExactLimits {
  std::uint64_t steps = 4'000'000;  // nodes that are visited
  std::size_t classes = 4096;       // larger problems are not solved
  double gap = 1e-3;                // a selection is the best if no other one is cheaper by more than this share
};

struct ExactSelection {
  Selection selection;
  bool is_optimal = false;
};

/// Improves on a selection, and adds what it meets to the best ones. Requires: the selection has no cycle.
ExactSelection cheapest_selection(const ExtractionProblem&, const Selection& start, const ExactLimits&, BestSelections&);

}  // namespace tilewright::passes::search
