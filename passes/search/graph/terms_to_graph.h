// Translates labelled terms back to a graph.
//
// Each class that an output needs becomes one node, whose axes are the slots of the class, and the nodes that bring its operands into order.
// Leaves are copied from the graph as it was written; their operands are those of the new graph. Kept nodes (kept_nodes.h) are copied with all
// that they are computed from. Types, symbols, names and lines stay the same.
#pragma once
#include "passes/search/graph/choice.h"
#include "passes/search/graph/graph_terms.h"

namespace tilewright::passes::search {

/// A graph of the same inputs and outputs, of which each class is computed by its chosen node. `written` is the graph of the terms.
graph::Graph terms_to_graph(const graph::Graph& written, const GraphTerms&, const Choice&);

/// Appends nodes to the graph itself that compute these nodes as the chosen nodes of their classes do, and returns them, so that both can
/// be compared.
std::vector<graph::NodeId> append_values(graph::Graph& written, const GraphTerms&, const Choice&, std::span<const graph::NodeId>);

/// Appends terms. The axes of the new nodes are in the order of the labels.
std::vector<graph::NodeId> append_terms(graph::Graph& written, const GraphTerms&, const Choice&, std::span<const Ref>);

}  // namespace tilewright::passes::search
