// The name of a node's function as users know it.
#pragma once
#include <string>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// The name of the function that the user calls: "add", "where", "max", "cumsum", "reshape". A part of a composite has its own op's name.
std::string function_name(const Node&);
/// The user's name of the node; else the name of the composite function that it is a part of; else function_name().
std::string display_name(const Graph&, NodeId);
/// The line of the call that made the node.
const Location& call_location(const Graph&, NodeId);

}  // namespace tilewright::graph
