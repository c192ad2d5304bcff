// The number of positions of each axis that a program handles at once.
#pragma once
#include <cstdint>

#include "passes/fusion/plan/loop_plan.h"

namespace tilewright::passes::fusion {

/// Powers of two.
struct TileSizes {
  AxisMap<std::int64_t> grid;  // axes that are distributed over the grid
  std::int64_t loop = 1;
  AxisMap<std::int64_t> payload;  // at least the extent
  struct Inner {
    std::int64_t size;
    bool is_looped;  // the size is less than the extent
  };
  AxisMap<Inner> inner;  // axes of reductions, except the loop's
  int num_warps = 4, num_stages = 0;
  bool has_exp2 = false;  // exp2 is an instruction of the target
  /// Lanes of a host's vectors, along the last axis of a tile; 1: all axes are equally good.
  std::int64_t lanes = 1;
  /// Whether an axis with a tile of this size leaves half of a vector's lanes idle, while one of `others` positions does not.
  bool is_short(std::int64_t tile, std::int64_t others) const { return 2 * tile <= lanes && others >= lanes; }
};

/// The number of positions of an axis that a program handles at once.
std::int64_t tile_of(Axis, const LoopPlan&, const TileSizes&);

/// The largest tile of the grid; of equal ones, that of the axis whose name comes first. Null if there is none.
const std::int64_t* largest_grid_tile(const TileSizes&);

/// The tiles that may be halved, and the least that is halved no further.
struct Halving {
  std::int64_t least = 1;
  bool has_loop = false;            // whether the loop's tile may be halved; it is, rather than an equally large one of the grid
  const AxisSet* within = nullptr;  // the axes of the grid whose tiles may be halved; null: all
};
/// Halves the largest tile that may be halved. Returns false if there is none.
bool halve_largest(TileSizes&, const Halving&);
/// Halves one tile after the other, the largest first, until the tiles fit. Returns false if they do not fit when no tile may be halved.
template <class Fits>
bool halve_until(TileSizes& sizes, const Halving& halving, Fits fits) {
  while (!fits())
    if (!halve_largest(sizes, halving)) return false;
  return true;
}
/// Halves all tiles of the grid and that of the loop; if all are 1, one of another reduction. Returns false if there is none.
bool halve_all(TileSizes&);

/// Matrix instructions have at least 16 rows, and contract at least 16 positions.
inline constexpr std::int64_t kLeastOfMatrix = 16;

}  // namespace tilewright::passes::fusion
