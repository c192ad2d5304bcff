// Tiles of matrices.
#pragma once
#include <array>

#include "tilewright/ops.h"
#include "tilewright/view.h"

namespace tilewright::kernels {

/// The tile at row i and column j. `inside`: it is completely inside of the extents, so its load needs no mask.
template <class T>
Tile<T> tile_at(const View<const T, 2>& v, const I32& i, const I32& j, std::array<int, 2> extents, bool inside) {
  const auto [rows, columns] = extents;
  if (!inside) return v.load({i, j}, {rows, columns});
  return load(v.pointer({column(i + arange(0, rows)), row(j + arange(0, columns))}));
}

}  // namespace tilewright::kernels
