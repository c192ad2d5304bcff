// The extents of register tiles.
#pragma once
#include <cstdint>

#include "tileir/type.h"

namespace tilewright::backend::host {

/// The accumulators of a register tile of sums: rows of vectors. `lanes` is the number of lanes of a vector.
struct TileShape {
  std::int64_t rows, vectors, lanes;
  std::int64_t columns() const { return vectors * lanes; }
};
TileShape register_tile_shape(int vector_bits, const ir::Type& sums);

}  // namespace tilewright::backend::host
