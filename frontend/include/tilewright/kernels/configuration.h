// The choice of configurations: the one place where the kernel library decides on tile sizes.
#pragma once
#include <cstdint>

#include "tilewright/device.h"
#include "tilewright/kernels/options.h"

namespace tilewright::kernels::host {

/// What decides on the configuration of a product.
struct ProductShape {
  std::int64_t batch, m, n, k;
  int element_bytes;
};
/// For matmul and its kind. The options' own configuration comes first.
Configuration product_configuration(const Device&, const ProductShape&, const Options&);
/// For products of a matrix and a vector: [m, k] with [k].
Configuration matvec_configuration(const Device&, std::int64_t m, std::int64_t k, const Options&);
/// For kernels over rows of `n` elements: bn is the tile's extent, and at least n if the row is short enough for one tile.
Configuration row_configuration(const Device&, std::int64_t n, const Options&);
/// For kernels over the elements of matrices, in tiles of bm rows and bn columns.
Configuration element_configuration(const Device&, std::int64_t rows, std::int64_t columns, const Options&);
/// What decides on the configuration of reductions of rows of k elements.
struct ReduceShape {
  std::int64_t matrices, m, k;
  bool has_dense_columns;
};
/// bm rows, bk elements in a step, the rows in `splits` parts.
Configuration reduce_configuration(const Device&, const ReduceShape&, const Options&);
/// For scans of n elements: bn in a step, in `splits` parts.
Configuration scan_configuration(const Device&, std::int64_t n, const Options&);
/// For sparse matrices in compressed rows: bm rows, bk nonzeros of each at a time, or bn nonzeros of one long row.
Configuration sparse_configuration(const Device&, std::int64_t rows, std::int64_t nonzeros, const Options&);
/// For Fourier transforms: bn small transforms, each in the registers of a lane.
Configuration fft_configuration(const Device&, std::int64_t transforms, const Options&);
/// For attention: bm queries, bn keys; heads of `depth` elements; `queries` of each head.
Configuration attention_configuration(const Device&, std::int64_t queries, std::int64_t keys, int depth, int element_bytes, const Options&);
/// What decides on the configuration of attention over a cache.
struct DecodeShape {
  std::int64_t sequences;  // times key heads
  std::int64_t capacity, page_size;
  std::int64_t group;  // heads that share a key head
};
/// bm heads, bn keys, the keys in `splits` parts.
Configuration decode_configuration(const Device&, const DecodeShape&, const Options&);

}  // namespace tilewright::kernels::host
