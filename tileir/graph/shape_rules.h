// Shape rules: the shape and the element type of a node, or what is wrong with its operands. One function an op. The builder, the parser
// and the verifier call the same rules, so a mistake has the same message everywhere.
#pragma once
#include "tileir/graph/shapes.h"

namespace tilewright::graph {

/// Checks the operands and attributes of a node. Its `shape` and `element` are read only where they do not follow from the operands
/// (leaves, reshape, broadcast, cast, bitcast, einsum's element). Requires: operands that are in the graph.
Inferred infer(const Graph&, const Node&);

}  // namespace tilewright::graph
