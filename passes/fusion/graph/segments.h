// Divides a graph at values that are in memory whatever is fused, and finds the parts between them that have one structure.
//
// A value is needed again when a product of it is complete: the sum to which each layer of a model adds. A kernel that did not store it
// would compute all that leads to it twice. So does what is read at many shifted positions. Long chains of products are divided as well,
// and what is still large (segment_parts.h). The parts between such values are derived one by one, and equal layers once.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// What was too large to be derived as a whole.
struct SegmentCut {
  std::size_t operations = 0, parts = 0;
  graph::NodeId last;  // of its results
};

/// An operand of a concatenation of many: what its segment computes is written to its place in the whole.
struct JoinedPart {
  graph::NodeId whole;
  Dim begin;              // along the joined axis
  bool is_last = false;   // the whole is in memory behind this segment
  bool is_ahead = false;  // the whole depends on parameters alone, and later segments read it
};

struct Segment {
  /// What it computes: each node is stored, or an output of the graph. Ascending.
  std::vector<graph::NodeId> results;
  /// Those results that depend on parameters alone and that later segments read: they are computed before a run.
  std::vector<graph::NodeId> ahead;
  /// Those results that later segments read at many positions (shifted_reads.h).
  std::vector<graph::NodeId> repeated;
  /// Those results that later segments compute one reduction after the other from (recurring_values.h).
  std::vector<graph::NodeId> recurring;
  /// What it reads of the values of earlier segments.
  std::set<graph::NodeId> memory;
  /// All nodes, operands first: equal segments have nodes of the same meaning at each place.
  std::vector<graph::NodeId> nodes;
  /// Equal for segments that do the same with tensors of other names.
  std::string structure;
  /// Of the first part of what was cut.
  std::optional<SegmentCut> cut;
  /// The result is not stored, but written to its place in a concatenation.
  std::optional<JoinedPart> joined;
};

/// A segment has at most so many operations, as segment_parts.h counts them.
inline constexpr std::size_t kMostOperations = 160;

/// Whether a node has kernels of its own, whatever is fused: its operands and results are in memory, or (operands of scatter_add) computed
/// element by element from what is.
bool has_own_kernels(graph::Op);

/// Whether a concatenation is written operand by operand. One kernel for all of it would test for each element which of the operands it is
/// in, and read all of them under masks: a host is slower by that from a few operands on, unless their rows are shorter than its vectors.
bool is_written_in_parts(const graph::Graph&, const graph::Node&, bool is_host);

/// Whether a node's value is in memory that no kernel writes: an input, or a constant of several elements.
bool has_own_memory(const graph::Node&);

/// The segments of a graph's outputs, in an order in which each one's operands are computed before it.
/// is_host: what the kernels are for.
std::vector<Segment> divide(const graph::Graph&, std::size_t most_operations = kMostOperations, bool is_host = false);

}  // namespace tilewright::passes::fusion
