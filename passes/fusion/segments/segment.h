// A part of a graph whose results are in memory whatever is fused.
#pragma once
#include <cstddef>
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

/// An operand of a concatenation of many operands: its segment writes a part of the whole.
struct JoinedPart {
  graph::NodeId whole;
  Dim begin;              // along the concatenated axis
  bool is_last = false;   // the whole is in memory after this segment
  bool is_ahead = false;  // the whole depends only on parameters, and later segments read it
};

/// A number in the structure of a segment: a constant of one element, or where a slice of memory begins.
struct StructureNumber {
  std::size_t at;      // where it is, as kDigitsOfNumber digits
  graph::NodeId node;  // the constant or the slice
};
inline constexpr std::size_t kDigitsOfNumber = 16;

struct Segment {
  /// The computed values: each node is stored, or an output of the graph. Ascending.
  std::vector<graph::NodeId> results;
  /// Those results that depend only on parameters and that later segments read: they are computed before a run.
  std::vector<graph::NodeId> ahead;
  /// Those results that later segments read at many positions (shifted_reads.h).
  std::vector<graph::NodeId> repeated;
  /// Those results that many successive reductions of later segments read (recurring_values.h).
  std::vector<graph::NodeId> recurring;
  /// Those results that several reductions of later segments walk (walked_sums.h).
  std::vector<graph::NodeId> walked;
  /// Those results that later segments would compute again from many tensors (carried_values.h).
  std::vector<graph::NodeId> carried;
  /// The values of earlier segments that it reads.
  std::set<graph::NodeId> memory;
  /// All nodes, operands first: in equal segments, nodes at the same index correspond.
  std::vector<graph::NodeId> nodes;
  /// Equal for segments that do the same with tensors of other names.
  std::string structure;
  /// The numbers in it, in the order of `nodes`.
  std::vector<StructureNumber> numbers;
  /// Set in the first part of a segment that was cut.
  std::optional<SegmentCut> cut;
  /// Set if the result is not stored, but written to its part of a concatenation.
  std::optional<JoinedPart> joined;
};

}  // namespace tilewright::passes::fusion
