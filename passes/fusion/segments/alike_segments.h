// Segments that differ in numbers only: in constants, such as the times of a solver's steps or the coefficients of a polynomial, or in where
// slices of tensors in memory begin, such as the blocks of a loop that is written out. If these numbers are arguments of their kernels, the
// segments have equal structures, and are derived and compiled once.
//
// To derive them, the graph is changed: such a constant becomes a number that a run passes (Op::scalar), and such a begin a symbol. It is derived as
// any other graph, so what rules conclude and what checks compare holds for all values of the numbers. A number stays in the structure
//
//   - if rules use its value: a constant that is 0, 1, -1, very large, very small or not finite, and how slices are aligned;
//   - if a constant has any other use than as a term, a factor or a numerator: an exponent, a divisor, a bound of a clamp, a padding;
//   - if it is equal in all of the segments.
#pragma once
#include <cstddef>
#include <vector>

#include "passes/fusion/segments/segment.h"

namespace tilewright::passes::fusion {

/// Segments that differ only in these numbers.
struct AlikeSegments {
  std::vector<std::size_t> segments;                  // their indices, ascending
  std::vector<std::vector<graph::NodeId>> arguments;  // for each number: the constant or the slice that has it, in each of the segments
};

/// The sets of at least kFewestAlike different segments.
std::vector<AlikeSegments> alike_segments(const graph::Graph&, const std::vector<Segment>&);

/// A graph with numbers as arguments: its nodes have the same indices, and its segments the same nodes. If begins of slices are arguments, its
/// symbols are a copy of the other graph's, to which these are added: one for each slice, whose bounds hold for the slices of all segments to
/// which it corresponds.
struct ArgumentGraph {
  graph::Graph graph;
  std::vector<Segment> segments;
};
ArgumentGraph with_arguments(const graph::Graph&, const std::vector<Segment>&, const std::vector<AlikeSegments>&);

}  // namespace tilewright::passes::fusion
