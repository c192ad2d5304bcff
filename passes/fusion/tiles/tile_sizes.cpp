// Looks up tiles by their axes.
#include "passes/fusion/tiles/tile_sizes.h"

#include <algorithm>
#include <utility>

namespace tilewright::passes::fusion {

std::int64_t tile_of(Axis a, const LoopPlan& plan, const TileSizes& sizes) {
  if (a == plan.loop) return sizes.loop;
  if (const auto inner = sizes.inner.find(a); inner != sizes.inner.end()) return inner->second.size;
  if (const auto grid = sizes.grid.find(a); grid != sizes.grid.end()) return grid->second;
  const auto payload = sizes.payload.find(a);
  return payload != sizes.payload.end() ? payload->second : 1;
}

std::int64_t* largest_grid_tile(TileSizes& sizes) {
  const auto largest = std::max_element(sizes.grid.begin(), sizes.grid.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second, b.first->name) < std::pair(b.second, a.first->name);
  });
  return largest == sizes.grid.end() ? nullptr : &largest->second;
}

}  // namespace tilewright::passes::fusion
