// How a launch of the kernel library gets its configuration: the description of the problem, and the choice.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <typeinfo>
#include <variant>

#include "tilewright/kernels/detail/arguments.h"
#include "tilewright/kernels/options.h"

namespace tilewright::kernels::host {

/// A product [batch, m, k] [batch, k, n].
struct ProductShape {
  std::int64_t batch, m, n, k;
  int element_bytes;       // bytes of an element of a and of b
  bool can_split = false;  // the kernel can compute long sums in parts: Configuration::splits has an effect
  int products = 1;        // number of products that are computed side by side
  int least_k = 16;        // the least Configuration::bk
  // The power of two, at most a cache line of 128 bytes, that divides the distance in bytes between neighbouring rows of a and of b, or
  // columns if those are contiguous. Copies move up to 16 bytes at once if they are aligned.
  int a_alignment = 128, b_alignment = 128;
  bool b_is_transposed = false;  // b is contiguous along k
  auto operator<=>(const ProductShape&) const = default;
};
/// A product [batch, m, k] [batch, k], in tiles of bm rows and steps of bk.
struct MatvecShape {
  std::int64_t batch, m, k;
  int element_bytes;
  auto operator<=>(const MatvecShape&) const = default;
};
/// Rows of n elements, one program for each row, in steps of bn.
struct RowsShape {
  std::int64_t rows = 0, n = 0;
  int element_bytes = 0;
  int arrays = 1;        // number of arrays that are read
  int passes = 1;        // number of passes over a row
  int exponentials = 0;  // exponentials for each element
  bool once = false;     // a row of at most bn elements is read only once
  auto operator<=>(const RowsShape&) const = default;
};
/// The `kept` largest elements of each row of n. Each program takes one row, in steps of bn.
struct TopKShape {
  std::int64_t rows, n;
  int kept;  // a power of two
  int element_bytes;
  auto operator<=>(const TopKShape&) const = default;
};
/// The elements of matrices, in tiles of bm rows and bn columns.
struct ElementsShape {
  std::int64_t matrices, rows, columns;
  int element_bytes;
  int work = 1;  // approximate number of operations for each element
  // For reads whose columns are contiguous and writes whose rows are contiguous, or the reverse: the distance in bytes between neighbours
  // along the other axis. Else 0.
  std::int64_t transposed_stride = 0;
  bool whole_rows = false;   // a tile has whole rows; bn is ignored
  bool has_borders = false;  // elements beyond the edges of a matrix are read, and masked
  auto operator<=>(const ElementsShape&) const = default;
};
/// Reduces rows of k elements to one element each: tiles of bm rows, steps of bk, each row in `splits` parts.
struct ReductionShape {
  std::int64_t matrices, m, k;
  int element_bytes;
  bool transposed = false;  // the elements of a column are contiguous, not those of a row
  int most_step = 8192;     // the greatest bk
  auto operator<=>(const ReductionShape&) const = default;
};
/// n elements in their order, in steps of bn and in `splits` parts.
struct ScanShape {
  std::int64_t n;
  int element_bytes;
  int work = 1;           // approximate number of operations for each element
  int most_block = 4096;  // the greatest bn
  int counters = 0;       // number of counters, each of which a step sets to 0 and adds to a sum; on hosts bn may then be greater
  auto operator<=>(const ScanShape&) const = default;
};
/// A sparse matrix in compressed rows: bm rows with bk nonzeros of each at a time, or bn nonzeros of one long row.
struct SparseShape {
  std::int64_t rows, nonzeros;
  int element_bytes;
  auto operator<=>(const SparseShape&) const = default;
};
/// Fourier transforms: bn small transforms, each in the registers of one lane.
struct FftShape {
  std::int64_t transforms;
  int element_bytes;
  auto operator<=>(const FftShape&) const = default;
};
/// Attention: tiles of bm queries and bn keys; heads of `depth` elements.
struct AttentionShape {
  std::int64_t heads, queries, keys;  // heads of all batches
  int depth, value_depth, element_bytes;
  bool causal = false, backward = false;
  auto operator<=>(const AttentionShape&) const = default;
};
/// Attention over a cache: tiles of bm heads and bn keys; the keys in `splits` parts.
struct DecodeShape {
  std::int64_t sequences;  // number of sequences times number of key heads
  std::int64_t capacity, page_size;
  std::int64_t group;  // number of heads that share a key head
  int depth, element_bytes;
  auto operator<=>(const DecodeShape&) const = default;
};

/// The facts, besides the device, that decide on the configuration of a launch.
using Problem = std::variant<ProductShape, MatvecShape, RowsShape, TopKShape, ElementsShape, ReductionShape, ScanShape, SparseShape,
                             FftShape, AttentionShape, DecodeShape>;

/// The number of threads that run programs if the device is this machine's processor; else 0. There, loops over single elements cost no
/// more than tiles, and work that programs would repeat is better done by fewer of them.
int host_threads(const Device&);
/// Whether the device is this machine's processor.
inline bool is_host(const Device& device) { return host_threads(device) > 0; }

/// The options' own configuration, or else the model's first choice.
Configuration chosen_configuration(const Device&, const Problem&, const Options&);

/// Calls launch(options) with the best known configuration in the options: the caller's own, else the one that the wisdom file has from a
/// measurement, else the model's first choice. With Options::tune, measures first if no measurement is known. It then launches many times,
/// so each launch must overwrite all results of the one before, or write only memory that ArgumentCheck::update() or `extras` name. With
/// batch_invariant it is always the model's choice, which does not depend on the number of rows. All checks of the arguments must be done.
/// `functions`: the types of the caller's functions that are compiled into the kernel. `extras`: their additional arguments.
void launch_tuned(const ArgumentCheck&, const Problem&, const Options&, const std::function<void(const Options&)>& launch,
                  const std::type_info& functions = typeid(void), const detail::Arguments* extras = nullptr);

/// A launch of `grid` programs with the configuration in `options`, which must have one.
inline Launch launch_of(const Grid& grid, const Options& options) {
  return {.grid = grid, .num_warps = options.configuration->num_warps, .stream = stream_of(options)};
}
/// A launch for kernels whose loops load ahead.
inline Launch staged_launch_of(const Grid& grid, const Options& options) {
  Launch launch = launch_of(grid, options);
  launch.num_stages = options.configuration->num_stages;
  return launch;
}

}  // namespace tilewright::kernels::host
