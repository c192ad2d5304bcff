// Looks up tiles by their axes, and halves them.
#include "passes/fusion/tiles/tile_sizes.h"

#include <algorithm>

namespace tilewright::passes::fusion {

std::int64_t tile_of(Axis a, const LoopPlan& plan, const TileSizes& sizes) {
  if (a == plan.loop) return sizes.loop;
  if (const auto inner = sizes.inner.find(a); inner != sizes.inner.end()) return inner->second.size;
  if (const auto grid = sizes.grid.find(a); grid != sizes.grid.end()) return grid->second;
  const auto payload = sizes.payload.find(a);
  return payload != sizes.payload.end() ? payload->second : 1;
}

const std::int64_t* largest_grid_tile(const TileSizes& sizes) {
  const std::int64_t* largest = nullptr;
  for (const auto& [axis, size] : sizes.grid)
    if (!largest || size > *largest) largest = &size;
  return largest;
}

bool halve_largest(TileSizes& sizes, const Halving& halving) {
  // Halving the tile of the loop does not change what programs read.
  std::int64_t* largest = halving.has_loop ? &sizes.loop : nullptr;
  for (auto& [axis, size] : sizes.grid)
    if ((!halving.within || halving.within->contains(axis)) && (!largest || size > *largest)) largest = &size;
  if (!largest || *largest <= halving.least) return false;
  *largest /= 2;
  return true;
}

bool halve_all(TileSizes& sizes) {
  bool is_smaller = sizes.loop > 1;
  sizes.loop = std::max<std::int64_t>(sizes.loop / 2, 1);
  for (auto& [axis, size] : sizes.grid) {
    is_smaller = is_smaller || size > 1;
    size = std::max<std::int64_t>(size / 2, 1);
  }
  for (auto& [axis, inner] : sizes.inner) {
    if (is_smaller || inner.size == 1 || sizes.payload.count(axis) != 0) continue;
    inner = {inner.size / 2, true};
    is_smaller = true;
  }
  return is_smaller;
}

}  // namespace tilewright::passes::fusion
