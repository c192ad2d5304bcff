// The name of a node's function as users know it.
#pragma once
#include <string>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// "add", "where", "max", "cumsum", "reshape": what the user calls, but for parts of composite functions.
std::string function_name(const Node&);
/// The user's name of the node, else that of the composite function of which it is a part, else function_name().
std::string display_name(const Graph&, NodeId);
/// The line of the call that made the node.
const Location& call_location(const Graph&, NodeId);

}  // namespace tilewright::graph
