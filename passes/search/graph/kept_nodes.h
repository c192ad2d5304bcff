// Finds nodes of a graph that a choice computes as they were written, so that they are copied and not written anew: the order of their axes in
// memory, and what fusion makes of it, stay as the user has them.
#pragma once
#include <functional>

#include <vector>

#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"

namespace tilewright::passes::search {

/// For each node: whether it and everything that it is made of are chosen as written. False for all nodes if the choice does not say which
/// classes are.
std::vector<bool> kept_nodes(const graph::Graph& written, const GraphTerms&, const Choice&);

/// A node and all that it is made of, operands first, but for nodes for which `ends` holds and what only these are made of.
std::vector<graph::NodeId> nodes_down_to(const graph::Graph&, graph::NodeId, const std::function<bool(graph::NodeId)>& ends);

}  // namespace tilewright::passes::search
