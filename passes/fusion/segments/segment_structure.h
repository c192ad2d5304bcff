// The structure of a segment as text, which is equal for segments that do the same with tensors of other names.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/segments/segment.h"

namespace tilewright::passes::fusion {

/// A text of what a kernel that writes an operand of a concatenation does in addition to computing the operand.
std::string joined_text(const graph::Node& whole);

class SegmentStructure {
 public:
  /// Keeps the references.
  SegmentStructure(const graph::Graph&, const KnownNodes&);
  /// Sets `nodes`, `memory` and `structure` of a segment from its results. `is_stored` says whether an earlier segment stores a node.
  void describe(Segment&, const std::function<bool(graph::NodeId)>& is_stored) const;
  /// The part of a segment that each run computes: the values of `ahead` are read from memory, where a kernel before the run has stored
  /// them. If a value of `ahead` is an output of the graph, it remains a result, because each run writes its outputs.
  Segment without_ahead(const Segment&) const;
  /// Divides a segment into parts with at most `most` operations each. If there are several parts, `cut` of the first one says so.
  std::vector<Segment> divided(Segment, std::size_t most) const;
  /// Divides a segment so that these nodes are stored: part k has the results whose longest chain of stored nodes before them has k nodes,
  /// so each part reads only what earlier parts store. A value that a later part needs is stored as well if it contains a reduction.
  std::vector<Segment> divided_at(const Segment&, const std::set<graph::NodeId>& stored) const;

 private:
  const graph::Graph& g_;
  const KnownNodes& known_;
  std::vector<std::size_t> outputs_;  // indexed by node: how many outputs have its value
};

}  // namespace tilewright::passes::fusion
