// The structure of a segment as text, which is equal for segments that do the same with tensors of other names.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/graph/segment.h"

namespace tilewright::passes::fusion {

/// What a kernel that writes an operand of a concatenation does in addition to computing the operand.
std::string joined_text(const graph::Node& whole);

class SegmentStructure {
 public:
  /// Keeps the references.
  SegmentStructure(const graph::Graph&, const KnownNodes&);
  /// Sets `nodes`, `memory` and `structure` of a segment whose results are set. is_stored: whether earlier segments compute a node.
  void describe(Segment&, const std::function<bool(graph::NodeId)>& is_stored) const;
  /// The rest of a segment when those of its results that are known before a run are in memory; outputs among them are still written.
  Segment without_ahead(const Segment&) const;
  /// Divides a segment into parts with at most `most` operations each; if there are several, the first one has `cut`.
  std::vector<Segment> divided(Segment, std::size_t most) const;
  /// Divides a segment in which these nodes are stored. All results of a part need the same number of stored nodes one after another. A
  /// value of one part that later parts need is stored as well if it contains a reduction.
  std::vector<Segment> divided_at(const Segment&, const std::set<graph::NodeId>& stored) const;

 private:
  const graph::Graph& g_;
  const KnownNodes& known_;
  std::vector<std::size_t> outputs_;  // indexed by node: how many outputs have its value
};

}  // namespace tilewright::passes::fusion
