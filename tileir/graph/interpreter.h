// The reference meaning of graphs: slow and obvious, one node after the other.
#pragma once
#include <map>
#include <string>

#include "tileir/graph/array.h"
#include "tileir/graph/graph.h"
#include "tileir/graph/perturbation.h"

namespace tilewright::graph {

/// The outputs by name. Floats are f64 under double_precision. Throws Error if an argument is missing or has the wrong size, if a symbol
/// has no value or is out of its bounds, if an extent is negative or not an integer, and if an index is out of range.
std::map<std::string, Array> interpret(const Graph&, const Arguments&, Rounding);
/// The outputs of a run in double precision whose operands are moved at random, by as much as rounding may move them.
std::map<std::string, Array> interpret(const Graph&, const Arguments&, const Perturbation&);
/// The value of one node.
Array interpret(const Graph&, NodeId, const Arguments&, Rounding);

}  // namespace tilewright::graph
