// Types of kernels that several steps use: the factors of a grid, and counted operations.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// The number of programs along one axis of the grid is the product of these factors: extent / tile, rounded up.
struct GridFactor {
  Dim extent;
  std::int64_t tile = 1;
  bool at_least_one = false;  // at least one program even if the extent is 0, because an output lacks the axis
  std::int64_t programs(std::int64_t extent_of_run) const {
    return std::max<std::int64_t>(extent_of_run / tile + (extent_of_run % tile != 0), at_least_one ? 1 : 0);
  }
};

/// A number of operations at each point of an index space.
struct FlopCount {
  double each = 0;
  std::vector<Dim> space;
};

}  // namespace tilewright::passes::fusion
