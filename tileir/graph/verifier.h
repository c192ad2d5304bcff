// Checks graphs: every rule that the builder keeps, for graphs from texts and after passes.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

struct GraphProblem {
  Location where;
  std::string message;
};

/// Everything that is ill-formed; empty for a graph that is well-formed.
std::vector<GraphProblem> verify(const Graph&);

}  // namespace tilewright::graph
