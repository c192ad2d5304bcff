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

/// Whether products with this right factor can be added by the instruction for four products of bytes (Machine::has_byte_products), on a
/// target with vectors of `lanes` lanes.
bool adds_byte_products(const ir::Type& right, const TileShape&, int lanes);

}  // namespace tilewright::backend::host
