// Checks graphs that were parsed or changed by passes against every rule that the builder enforces.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

struct GraphProblem {
  Location where;
  std::string message;
};

/// All problems of the graph; empty if it is well formed.
std::vector<GraphProblem> verify(const Graph&);

}  // namespace tilewright::graph
