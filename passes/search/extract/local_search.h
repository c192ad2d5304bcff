// Selections by the cost of trees, and better ones by changing what a selection has.
#pragma once
#include "passes/search/extract/best_selections.h"

namespace tilewright::passes::search {

/// For each class the node of the cheapest tree, as if each class had one user: classes become final in the order of their cost (Knuth, "A
/// generalization of Dijkstra's algorithm", 1977), so that none is computed from itself. -1 where there is no finite tree.
Selection cheapest_trees(const ExtractionProblem&);

/// Changes the node of one class, or the nodes of all classes that can read a class, as long as that makes the selection cheaper. Adds the
/// selections that it finds to the best ones. `selection` has a node for each class that has a finite tree. Ends after so many steps
/// (classes of selections that are evaluated). Requires: the selection has no cycle.
Selection improve(const ExtractionProblem&, Selection, std::uint64_t most_steps, BestSelections&);

}  // namespace tilewright::passes::search
