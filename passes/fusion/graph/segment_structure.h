// The structure of a segment as text: equal for segments that do the same with tensors of other names.
#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "passes/fusion/graph/segments.h"
#include "passes/fusion/translate/parameters.h"

namespace tilewright::passes::fusion {

/// Whether a leaf is a tensor or a number that a run gets, or a constant of several elements.
bool is_in_memory(const graph::Node&);

/// What a kernel that writes to a place in a concatenation does beside computing the operand.
std::string joined_text(const graph::Node& whole);

class SegmentStructure {
 public:
  /// Keeps the references.
  SegmentStructure(const graph::Graph&, const KnownNodes&);
  /// Sets `nodes`, `memory` and `structure` of a segment whose results are set. is_stored: whether earlier segments compute a node.
  void describe(Segment&, const std::function<bool(graph::NodeId)>& is_stored) const;
  /// What is left of a segment when its results that are known ahead are in memory: those that are outputs are still written.
  Segment without_ahead(const Segment&) const;
  /// The parts of a segment, each with at most `most` operations; the first one has `cut` if there are several.
  std::vector<Segment> divided(Segment, std::size_t most) const;
  /// The parts of a segment of which these nodes are stored: each has results that need equally many stored nodes behind each other. What
  /// later parts need of a part is stored as well if it holds a reduction.
  std::vector<Segment> divided_at(const Segment&, const std::set<graph::NodeId>& stored) const;

 private:
  const graph::Graph& g_;
  const KnownNodes& known_;
  std::vector<std::size_t> outputs_;  // by node: how many outputs it is
};

}  // namespace tilewright::passes::fusion
