// The extents of register tiles.
#pragma once
#include <cstdint>
#include <optional>

#include "backend/host/machine.h"
#include "tileir/type.h"

namespace tilewright::backend::host {

/// The accumulators of a register tile of sums: rows of vectors. `lanes` is the number of lanes of a vector. The rows of float sums need not
/// be a multiple of those of a register tile.
struct TileShape {
  std::int64_t rows, vectors, lanes;
  std::int64_t columns() const { return vectors * lanes; }
};
TileShape register_tile_shape(int vector_bits, const ir::Type& sums);
/// The register tile of sums that have only so many rows.
TileShape register_tile_shape(int vector_bits, std::int64_t rows, const ir::Type& sums);

/// The accumulators that a dot holds in tile registers (AMX), as two or one in either direction: 16 or 32 rows, and as many columns. None if
/// the processor has no such registers for the factors, or an extent does not fill one. Dots of bf16 always have one where the processor
/// does: the others have been widened.
struct AmxShape {
  static constexpr std::int64_t kRegisterRows = 16, kRegisterRowBytes = 64;  // the rows and bytes of one tile register

  std::int64_t rows, columns;
};
std::optional<AmxShape> amx_shape(const ProductInstructions&, const ir::Type& left, const ir::Type& sums);

/// Whether products with this right factor can be added by the instruction for four products of bytes (ProductInstructions), on a
/// target with vectors of `lanes` lanes.
bool adds_byte_products(const ir::Type& right, const TileShape&, int lanes);

}  // namespace tilewright::backend::host
