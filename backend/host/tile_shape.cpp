// Divides the registers of a processor between rows and columns.
#include "backend/host/tile_shape.h"

#include <algorithm>

namespace tilewright::backend::host {

TileShape register_tile_shape(int vector_bits, const ir::Type& sums) {
  return register_tile_shape(vector_bits, sums.extent(sums.rank() - 2), sums);
}

TileShape register_tile_shape(int vector_bits, std::int64_t all_rows, const ir::Type& sums) {
  // Half of the registers are accumulators. The right factor comes from the second cache: where there are 16 accumulators, eight rows read
  // two of its vectors for as many multiply-adds as four rows read four (measured on Emerald Rapids, 2026-11-30: 1.05 to 1.25 times as fast).
  // Of 16 registers, eight accumulators just cover the latency of a multiply-add, and wait for each vector that comes late. Six rows of two
  // vectors leave four for the factors; the last rows of the sums are a tile of fewer rows (on Zen 3 1.05 to 1.2 times as fast, 2026-12-01).
  constexpr std::int64_t kMostVectors = 8, kRowsForSix = 16;
  const std::int64_t columns = sums.extent(sums.rank() - 1);
  const bool has_six = vector_bits == 256 && sums.is_float() && all_rows >= kRowsForSix;
  const std::int64_t accumulators = vector_bits >= 512 ? 16 : has_six ? 12 : 8;
  const std::int64_t rows = std::min(all_rows, accumulators / 2),
                     lanes = std::min<std::int64_t>(columns, vector_bits / (8 * sums.element_bytes()));
  return {rows, std::min({columns / lanes, accumulators / rows, kMostVectors}), lanes};
}

std::optional<AmxShape> amx_shape(const ProductInstructions& products, const ir::Type& left, const ir::Type& sums) {
  constexpr std::int64_t kRows = AmxShape::kRegisterRows;
  const std::int64_t rows = sums.extent(sums.rank() - 2), columns = sums.extent(sums.rank() - 1);
  const bool has_tiles =
      (products.byte_tiles && left.element() == ir::Element::i8) || (products.bf16_tiles && left.element() == ir::Element::bf16);
  if (!has_tiles || rows < kRows || columns < kRows || left.extent(left.rank() - 1) * left.element_bytes() < AmxShape::kRegisterRowBytes)
    return std::nullopt;
  return AmxShape{std::min(rows, 2 * kRows), std::min(columns, 2 * kRows)};
}

bool adds_byte_products(const ir::Type& right, const TileShape& shape, int lanes) {
  constexpr std::int64_t kLeastDepth = 16;  // bytes of the narrowest register, in which a row of the left factor is added up
  return right.element() == ir::Element::i8 && shape.lanes == lanes && right.extent(right.rank() - 2) >= kLeastDepth;
}

}  // namespace tilewright::backend::host
