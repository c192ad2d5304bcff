// How a launch of the kernel library gets its configuration: what is launched, as the choice sees it, and the choice.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <typeinfo>
#include <variant>

#include "tilewright/kernels/arguments.h"
#include "tilewright/kernels/options.h"

namespace tilewright::kernels::host {

/// A product [batch, m, k] [batch, k, n].
struct ProductShape {
  std::int64_t batch, m, n, k;
  int element_bytes;       // of a and b
  bool can_split = false;  // the kernel adds up parts of long sums: Configuration::splits counts
  int products = 1;        // that are computed side by side
  int least_k = 16;        // of Configuration::bk
  // Bytes that divide the distance of neighbours in memory, of the rows of a and of b, or of the columns if those are contiguous. A power
  // of two, at most a line of 128: pieces of up to 16 can be copied at once.
  int a_alignment = 128, b_alignment = 128;
  auto operator<=>(const ProductShape&) const = default;
};
/// A product [batch, m, k] [batch, k] in tiles of bm rows, in steps of bk.
struct MatvecShape {
  std::int64_t batch, m, k;
  int element_bytes;
  auto operator<=>(const MatvecShape&) const = default;
};
/// Rows of n elements, a program each, in steps of bn.
struct RowsShape {
  std::int64_t rows = 0, n = 0;
  int element_bytes = 0;
  int arrays = 1;        // that are read
  int passes = 1;        // over a row
  int exponentials = 0;  // of an element
  bool once = false;     // a row that is no longer than bn is read once
  auto operator<=>(const RowsShape&) const = default;
};
/// The `kept` largest of rows of n elements, a program each: of bn elements in a step.
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
  int work = 1;  // operations on an element, more or less
  // Where columns of what is read are contiguous and rows of what is written are, or the reverse: the distance of neighbours along the
  // other axis, in bytes.
  std::int64_t transposed_stride = 0;
  bool whole_rows = false;   // a tile has whole rows: bn does not count
  bool has_borders = false;  // elements are read that lie beyond the edges of a matrix, and masked
  auto operator<=>(const ElementsShape&) const = default;
};
/// Rows of k elements to one element each: bm rows, bk elements in a step, the rows in `splits` parts.
struct ReductionShape {
  std::int64_t matrices, m, k;
  int element_bytes;
  bool transposed = false;  // elements of a column are contiguous, not those of a row
  int most_step = 8192;     // of bk
  auto operator<=>(const ReductionShape&) const = default;
};
/// n elements in their order: bn in a step, in `splits` parts.
struct ScanShape {
  std::int64_t n;
  int element_bytes;
  int work = 1;           // operations on an element, more or less
  int most_block = 4096;  // of bn
  auto operator<=>(const ScanShape&) const = default;
};
/// A sparse matrix in compressed rows: bm rows, bk nonzeros of each at a time, or bn nonzeros of one long row.
struct SparseShape {
  std::int64_t rows, nonzeros;
  int element_bytes;
  auto operator<=>(const SparseShape&) const = default;
};
/// Fourier transforms: bn small transforms, each in the registers of a lane.
struct FftShape {
  std::int64_t transforms;
  int element_bytes;
  auto operator<=>(const FftShape&) const = default;
};
/// Attention: bm queries, bn keys; heads of `depth` elements.
struct AttentionShape {
  std::int64_t heads, queries, keys;  // heads of all batches
  int depth, value_depth, element_bytes;
  bool causal = false, backward = false;
  auto operator<=>(const AttentionShape&) const = default;
};
/// Attention over a cache: bm heads, bn keys, the keys in `splits` parts.
struct DecodeShape {
  std::int64_t sequences;  // times key heads
  std::int64_t capacity, page_size;
  std::int64_t group;  // heads that share a key head
  int depth, element_bytes;
  auto operator<=>(const DecodeShape&) const = default;
};

/// What decides on the configuration of a launch, besides the device.
using Problem = std::variant<ProductShape, MatvecShape, RowsShape, TopKShape, ElementsShape, ReductionShape, ScanShape, SparseShape,
                             FftShape, AttentionShape, DecodeShape>;

/// The first choice of the model, or the options' own configuration.
Configuration chosen_configuration(const Device&, const Problem&, const Options&);

/// Calls launch(options) with the best configuration in them that is known: the options' own; what was measured, as the wisdom file has it;
/// else the first choice of the model. With Options::tune, measures first where nothing is known: then launches many times, so each launch
/// must overwrite what the one before wrote, or write only what ArgumentCheck::update() names and what `extras` lead to. batch_invariant:
/// always the model's choice, which does not depend on the number of rows. The call needs all checks of the arguments to be done.
/// `functions`: the types of functions of the caller that are compiled into the kernel. `extras`: what these get besides the arguments.
void launch_tuned(const ArgumentCheck&, const Problem&, const Options&, const std::function<void(const Options&)>& launch,
                  const std::type_info& functions = typeid(void), const detail::Arguments* extras = nullptr);

/// The launch of as many programs with the configuration of options that have one.
inline Launch launch_of(const Grid& grid, const Options& options) {
  return {.grid = grid, .num_warps = options.configuration->num_warps, .stream = stream_of(options)};
}
/// The same for kernels whose loops load ahead.
inline Launch staged_launch_of(const Grid& grid, const Options& options) {
  Launch launch = launch_of(grid, options);
  launch.num_stages = options.configuration->num_stages;
  return launch;
}

}  // namespace tilewright::kernels::host
