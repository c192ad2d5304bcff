// Divides a graph at values that are in memory whatever is fused, and finds equal parts between them.
//
// A value is stored if it is needed again when a product of it is complete, such as the sum to which each layer of a model adds: otherwise
// a kernel would compute everything before it twice. A value that is read at many shifted positions is stored for the same reason. Long
// chains of products are divided too, and segments that are still too large (segment_parts.h). The parts are derived one by one, equal
// layers once.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// A segment that was too large to be derived as a whole.
struct SegmentCut {
  std::size_t operations = 0, parts = 0;
  graph::NodeId last;  // the last of its results
};

/// An operand of a concatenation of many operands: its segment writes the result to its place in the whole.
struct JoinedPart {
  graph::NodeId whole;
  Dim begin;              // along the concatenated axis
  bool is_last = false;   // the whole is in memory after this segment
  bool is_ahead = false;  // the whole depends only on parameters, and later segments read it
};

struct Segment {
  /// The computed values: each node is stored, or an output of the graph. Ascending.
  std::vector<graph::NodeId> results;
  /// Those results that depend only on parameters and that later segments read: they are computed before a run.
  std::vector<graph::NodeId> ahead;
  /// Those results that later segments read at many positions (shifted_reads.h).
  std::vector<graph::NodeId> repeated;
  /// Those results that many successive reductions of later segments read (recurring_values.h).
  std::vector<graph::NodeId> recurring;
  /// The values of earlier segments that it reads.
  std::set<graph::NodeId> memory;
  /// All nodes, operands first: in equal segments, nodes at the same index correspond.
  std::vector<graph::NodeId> nodes;
  /// Equal for segments that do the same with tensors of other names.
  std::string structure;
  /// Set in the first part of a segment that was cut.
  std::optional<SegmentCut> cut;
  /// Set if the result is not stored, but written to its place in a concatenation.
  std::optional<JoinedPart> joined;
};

/// The most operations of a segment, counted as in segment_parts.h.
inline constexpr std::size_t kMostOperations = 160;

/// Whether a node has kernels of its own, whatever is fused: its operands and results are in memory; operands of scatter_add may also be
/// computed element by element from memory.
bool has_own_kernels(graph::Op);

/// Whether a concatenation is written operand by operand. A single kernel would test for each element in which operand it is, and read all
/// operands under masks. From a few operands on, that makes a host slower, unless the operands' rows are shorter than its vectors.
bool is_written_in_parts(const graph::Graph&, const graph::Node&, bool is_host);

/// Whether a node's value is in memory that no kernel writes: an input, or a constant of several elements.
bool has_own_memory(const graph::Node&);

/// The segments of a graph's outputs, in an order in which each one's operands are computed before it. is_host: whether the kernels are for
/// a host.
std::vector<Segment> divide(const graph::Graph&, std::size_t most_operations = kMostOperations, bool is_host = false);

}  // namespace tilewright::passes::fusion
