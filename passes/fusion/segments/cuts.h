// Finds the values of a graph that are in memory whatever is fused: steps 1 to 3 of segments.h.
#pragma once
#include <cstddef>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/segments/segment_structure.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Facts of each node, by its index, and lists of nodes in their order.
struct Cuts {
  std::vector<bool> is_cut;              // the value is stored
  std::vector<bool> is_in_parts;         // a concatenation of which each operand has segments of its own
  std::vector<bool> is_inner;            // a concatenation whose operands are those of the concatenation in parts that reads it
  std::vector<bool> has_scan;            // a scan is computed after the last stored values
  std::vector<int> depth;                // the greatest number of products on a path from stored values
  std::vector<int> level;                // segments of a level read what those of lower levels store
  std::vector<graph::NodeId> repeated;   // values that are read at many shifted positions
  std::vector<graph::NodeId> recurring;  // values that many successive reductions read
  std::vector<graph::NodeId> walked;     // sums that several reductions walk
};

/// Whether a node is a segment of its own, or several segments.
bool is_apart(const graph::Graph&, const Cuts&, graph::NodeId);

/// needed: the nodes that the outputs need. most_operations: the size at which a segment is divided.
Cuts find_cuts(const graph::Graph&, const KnownNodes&, const SegmentStructure&, const std::vector<bool>& needed,
               std::size_t most_operations, bool is_host);

}  // namespace tilewright::passes::fusion
