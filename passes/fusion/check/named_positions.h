// Finds the positions of axes that a graph names: masks and indexed reads pick the elements there.
//
//   sum(where(iota == 5, x, 0))     5          gather(x, [7, 9])     7, 9          take_along(x, iota + 3)     3, 4, and the last one
//
// At a small instance, a sum visits only some positions of an axis, of which one represents all others (sample.h). A sum that picks one
// element needs this element's position among those that it visits alone.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Indices of two axes that a graph compares: then it matters which of the positions that one represents is meant (coordinates.h).
struct RelatedIndices {
  std::vector<std::int64_t> distances;  // of the indices that are equal: 1 for i == j + 1 and for j - i == 1
  std::vector<std::int64_t> extents;    // of the axes
};
/// None if the graph compares no such indices, and reads no elements at the index along another axis. `value`: of an extent.
std::optional<RelatedIndices> related_indices(const graph::Graph&, const std::function<std::int64_t(const Dim&)>& value);

/// The positions behind the first `most` - 1 ones that masks and indexed reads name, in ascending order and kMostNamedPositions at most. Of an
/// index that is computed they are the values at visited positions. `shapes`: the extents of each node.
/// `value`: of an extent.
std::vector<std::int64_t> named_positions(const graph::Graph&, std::span<const std::vector<std::int64_t>> shapes,
                                          const std::function<std::int64_t(const Dim&)>& value, int most);

}  // namespace tilewright::passes::fusion
