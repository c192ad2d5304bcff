// Partial equivalence (PET): in which boxes of positions two values of a graph are equal.
//
//   y = sum of windows of 3 of x padded by one on both sides, n = 8        z = the same without padding, and 0 at both ends
//   compare_boxes(y, z)  ->  [0, 1) differs, [1, 7) equal, [7, 8) differs
//
// A graph that is equal almost everywhere may be much cheaper. What differs is computed as written.
#pragma once
#include <string>

#include "passes/search/partial/affine_form.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

struct ComparedBox {
  Box box;
  bool is_equal = false;  // whether the values are equal at all positions; otherwise they differ at one of them, or a limit was met
  friend bool operator==(const ComparedBox&, const ComparedBox&) = default;
};

/// Limits are counts, so that the outcome does not depend on the machine.
struct BoxLimits {
  std::size_t boxes = 10'000;
  std::uint64_t visits = 20'000'000;  // values of nodes that are computed
};

struct BoxComparison {
  std::vector<ComparedBox> boxes;  // all positions, each once; in row-major order of the first position
  bool is_complete = true;         // no limit was met
  std::uint64_t visits = 0;
};

/// Compares two nodes of one graph, whose shapes must be equal. None if one of them depends on an extent with symbols.
///
///   1. compare: computes both values in a box (box_values.h). If one of them is not affine there, the box is split and both parts are compared.
///   2. has_difference: values that differ as polynomials may agree at single positions, so some are computed. If all of these are equal, the
///      box is split, down to single positions, where the comparison is exact.
///   3. merge: joins boxes with a face in common whose outcomes are the same.
std::optional<BoxComparison> compare_boxes(const graph::Graph&, graph::NodeId a, graph::NodeId b, const BoxLimits& = {});

/// "[0:1, 0:14] differs"
std::string text(const ComparedBox&);

}  // namespace tilewright::passes::search
