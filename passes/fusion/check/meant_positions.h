// Divides the positions that one represents where a graph compares indices of two axes: those with the same relations stay together.
//
//   sum(where(i == j + 1, x[i, j], 0)), i and j below 500        the last position represents 2 to 499
//   i: 2   3   4 to 497   498   499         below: j = 1, 2, i - 1; above: another i - 1 and i + 1 that are represented, or none
//
// Elements of all represented positions are equal, but each of them has one successor, and the last one has none. So a sum visits a position of
// each class of positions that have the same relations, and counts it by the size of the class. Where the indices of other axes are known, the
// positions that are related to these are visited one by one.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "passes/fusion/check/coordinates.h"

namespace tilewright::passes::fusion {

struct SampledPosition {
  std::int64_t position;
  std::int64_t weight;  // weight in sums
};

class MeantPositions {
 public:
  /// `distances`: by how much the indices of two axes differ that a graph compares. `extents`: of these axes.
  MeantPositions(std::span<const std::int64_t> distances, std::span<const std::int64_t> extents);

  /// The coordinates that are visited for `s`, with weights that add up to that of `s`. `others`: the coordinates of other axes.
  /// `first`: positions below are visited alone, and so are `named` ones, which are sorted.
  std::vector<SampledPosition> divided(const SampledPosition& s, const Coordinates& others, std::int64_t first,
                                       std::span<const std::int64_t> named) const;

  /// The coordinate of a position of an axis: elements of represented positions are those of the last one.
  std::int64_t coordinate(std::int64_t extent, std::int64_t position, std::int64_t first, std::span<const std::int64_t> named) const;
  bool is_of_related(std::int64_t extent) const;

 private:
  std::vector<std::int64_t> related_;  // distances of indices that are related by one comparison or by two
  std::vector<std::int64_t> extents_;
};

}  // namespace tilewright::passes::fusion
