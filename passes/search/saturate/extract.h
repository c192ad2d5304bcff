// Chooses the node of each class with the least total cost, as far as values are not shared.
//
// Classes become final in the order of their cost: that of the cheapest node all of whose operands are final (Knuth, "A generalization of
// Dijkstra's algorithm", 1977). So no class is computed from itself. A value that several nodes read counts once for each of them, so the
// outcome may be dearer than the graph as it was written; both costs are given, with each value counted once.
#pragma once
#include "passes/search/egraph.h"
#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::search {

struct Extraction {
  std::vector<std::size_t> members;  // indexed by class
  double seconds = 0, seconds_written = 0;
  bool is_cheaper() const { return seconds < seconds_written; }
};

Extraction extract(const graph::Graph& written, const GraphTerms&, const EGraph&, const ir::TargetDesc&);

}  // namespace tilewright::passes::search
