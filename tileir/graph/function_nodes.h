// The nodes of a function that a reduction combines elements with.
#pragma once
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// Each node that the function depends on, once, after its operands; the last one is the function's result.
std::vector<NodeId> function_nodes(const Graph&, NodeId function);

}  // namespace tilewright::graph
