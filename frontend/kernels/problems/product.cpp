// Products of matrices: tiles of the result, in steps along k.
#include "frontend/kernels/problems/product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/models/matrix_model.h"
#include "frontend/kernels/problems/tile_sizes.h"
#include "tileir/target/machine_facts.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

using namespace multiprocessor;
using namespace host_costs;

Configuration configuration_of(const ProductChoice& c) {
  return {.bm = c.rows, .bn = c.columns, .bk = c.depth, .num_warps = c.num_warps, .num_stages = c.num_stages, .splits = c.splits};
}
ProductChoice choice_of(const ProductShape&, const Configuration& c) {
  return {.rows = c.bm, .columns = c.bn, .depth = c.bk, .num_warps = c.num_warps, .num_stages = c.num_stages, .splits = c.splits};
}

namespace {

/// Extents of a step along K. On a GPU its rows have 64 to 256 bytes, and at least 128 for types of 32 bits and more.
std::vector<int> depths(const Machine& m, const ProductShape& s) {
  if (!m.target.is_gpu()) return tile_sizes(s.k, s.least_k, 256);
  std::vector<int> all = tile_sizes(s.k, s.least_k, std::max(256 / s.element_bytes, 32));
  const int least_bytes = s.element_bytes >= 4 ? 128 : 64, longest = all.back();
  std::erase_if(all, [&](int depth) { return depth * s.element_bytes < least_bytes && depth < longest; });
  return all;
}

/// On hosts, programs of so few rows read b in memory (backend/host/contraction.h). They stream it if its rows are long enough.
constexpr int kFewRows = 8, kSideBySide = 8;
constexpr double kStreamedRowBytes = 4096;

/// How many warps share the rows and the columns of a product, divided as in select_mma.
struct Warps {
  int rows = 1, columns = 1;
};
Warps warps_of(const ProductChoice& c) {
  constexpr int kRows = 16, kColumns = 8;  // rows and columns of one instruction
  Warps w;
  int rows = c.rows, columns = c.columns;
  for (int left = c.num_warps; left > 1; left /= 2) {
    const bool by_columns = columns > kColumns && (rows <= kRows || columns > rows);
    (by_columns ? w.columns : w.rows) *= 2;
    (by_columns ? columns : rows) /= 2;
  }
  return w;
}

}  // namespace

std::vector<ProductChoice> candidates(const Machine& m, const ProductShape& s) {
  std::vector<ProductChoice> all;
  const bool is_gpu = m.target.is_gpu();
  // On a GPU, more than 128 accumulators per thread spill.
  constexpr int kMostAccumulators = 128;
  // The host back end computes the product of one row in its own way (passes/sum_dots.cpp), and few rows of floats in registers of four or
  // eight. Small factors may need the 16 rows of a tile register.
  const int least_rows = is_gpu ? 16 : s.m == 1 ? 1 : s.element_bytes >= 4 ? covering_size(s.m, 4, 16) : 16;
  for (const int rows : tile_sizes(s.m, least_rows, is_gpu ? 128 : 256))
    for (const int columns : tile_sizes(s.n, 16, is_gpu || rows > kFewRows || s.b_is_transposed ? 256 : rows == 1 ? 4096 : 1024)) {
      // With the sums of several rows, more than 8 rows of b side by side take up to twice as long, and sums of 2048 columns leave the first cache
      // (measured on Zen 5, 2026-12-01: 8x4096x4096).
      const bool is_streamed = !is_gpu && rows <= kFewRows && !s.b_is_transposed && columns * s.element_bytes >= kStreamedRowBytes;
      for (const int depth : (is_streamed && rows > 1) ? std::vector{kSideBySide} : depths(m, s))
        for (const int w : warp_counts(m, {1, 2, 4, 8})) {
          if (is_gpu && (s.products * rows * columns > w * 32 * kMostAccumulators || rows * columns < w * 256)) continue;
          const std::int64_t programs = s.batch * cdiv(s.m, std::int64_t{rows}) * cdiv(s.n, std::int64_t{columns});
          const std::vector<int> all_parts = s.can_split ? split_counts(m, programs, cdiv(s.k, std::int64_t{depth}), 4) : std::vector{1};
          const std::vector<int> counts = stage_counts(m, std::int64_t{rows + s.products * columns} * depth * s.element_bytes);
          for (const int count : counts)
            for (const int parts : all_parts)
              if (parts == 1 || count == counts.front())
                all.push_back({.rows = rows, .columns = columns, .depth = depth, .num_warps = w, .num_stages = count, .splits = parts});
        }
    }
  return all;
}

std::string key(const ProductShape& s) {
  return fmt::format("product {}x{}x{}x{}, {} of {} from {}, rows at {} and {}{}", rounded_up(s.batch), rounded_up(s.m), s.n, s.k,
                     s.products, s.element_bytes, s.least_k, s.a_alignment, s.b_alignment, s.b_is_transposed ? ", transposed" : "");
}

void assume_rows(ProductShape& s) {
  s.batch = 1, s.m = kSomeRows;
  // If columns are contiguous, or matrices follow each other, distances may depend on the number of rows. So use the distance of dense
  // rows.
  const std::int64_t row = 128 | s.k * s.element_bytes;
  s.a_alignment = static_cast<int>(row & -row);
}

double gpu_seconds(const Machine& m, const ProductShape& s, const ProductChoice& c) {
  const int e = s.element_bytes;
  const Warps warps = warps_of(c);
  const double tile = static_cast<double>(c.rows) * c.columns * s.products, step_columns = static_cast<double>(s.products) * c.columns;
  ProgramLoad p{.warps = static_cast<double>(c.num_warps)};
  double elements = add_loads(p, m.target, c.rows, c.depth, e, s.a_alignment);
  for (int i = 0; i < s.products; ++i) elements += add_loads(p, m.target, c.depth, c.columns, e, s.b_alignment);
  const bool loads_ahead = m.target.sm >= 80 && c.num_stages > 1 && elements <= kMostElementsAhead;
  p.stages = !loads_ahead ? 1 : elements > 0 ? 2 : c.num_stages;
  const double step_bytes = (c.rows + step_columns) * c.depth * e;
  p.shared_bytes = step_bytes * (elements > 0 ? 1 : p.stages);
  // Registers for sums, and for the fragments of one instruction along K, of 32 bytes.
  p.registers += kRegisters + tile / (32 * p.warps) * std::max(1.0, e / 4.0) + static_cast<double>(c.rows) / warps.rows / 4 +
                 step_columns / warps.columns / 4;
  const double read = (static_cast<double>(warps.columns) * c.rows + warps.rows * step_columns) * c.depth * e,
               products = 2 * tile * c.depth;
  p.matrix = products * m.facts.hertz / m.facts.matrix_flops(e);
  p.shared += read / kSharedBytes;
  p.issue += products * e / kOperationsOfMma + read / kBytesOfLdmatrix;
  p.result_bytes = tile * 4;
  p.spill(m.target);

  const auto parts = [](std::int64_t extent, int size) { return std::ceil(static_cast<double>(extent) / size); };
  const double batch = static_cast<double>(s.batch), programs = batch * parts(s.m, c.rows) * parts(s.n, c.columns) * c.splits;
  const double steps = std::ceil(parts(s.k, c.depth) / c.splits), results = batch * static_cast<double>(s.m * s.n) * s.products * 4;
  const double factors = batch * static_cast<double>(s.m * s.k + s.products * s.n * s.k) * e;
  const double memory = memory_seconds(m, factors + results, programs * (steps * step_bytes + p.result_bytes));
  const double launch = m.facts.launch_seconds + m.facts.share_seconds;
  const double seconds = ir::overlapped_seconds(clocks_of_all(m.target, p, programs, steps) / m.facts.hertz, memory) + launch;
  return c.splits == 1 ? seconds : seconds + launch + (c.splits + 1) * results / m.facts.memory_bytes;
}

Programs programs(const Machine& m, const ProductShape& s, const ProductChoice& c) {
  constexpr double kLastSum = 10;
  const double rows = c.rows, columns = c.columns, depth = c.depth, tile = rows * columns;
  const double steps = std::ceil(parts_of(s.k, c.depth) / c.splits), k = steps * depth,
               step_bytes = (rows + s.products * columns) * depth * 4;
  const bool is_in_place = rows <= kFewRows && s.element_bytes >= 4 && !s.b_is_transposed,
             is_streamed = is_in_place && columns * s.element_bytes >= kStreamedRowBytes;
  const double load = kLoad + (is_streamed ? 0 : outside_level1(step_bytes, 0.015));
  // Two vectors of columns fill the registers of the inner loop.
  const double lanes = m.target.lanes(), share = columns >= 2 * lanes ? 1 : columns >= lanes ? 0.55 : 0.55 * columns / lanes;
  // A block of b and the sums stay in the second-level cache, where they leave room for what the processor fetches. (Fitted with the
  // constants below on an Emerald Rapids, 2026-11-30: 36 configurations at six shapes of f32. Smaller factors, of which tile registers add
  // more at a time, are left out: int8 took up to 19 % longer by it.)
  constexpr double kBlockDepth = 512, kBlockBytes = 256 << 10, kLoadInPlace = 0.03, kKeptBytes = 1 << 20;
  const double bytes = s.element_bytes > 4 ? s.element_bytes : 4;
  const double block_bytes = (std::min(k, kBlockDepth) + rows) * columns * s.products * bytes;
  const bool is_crowded = s.element_bytes >= 4 && !is_streamed && block_bytes > kBlockBytes;
  const double block = 1 + (is_crowded ? 0.05 * std::log2(block_bytes / kBlockBytes) : 0);
  const double products = block * 2 * tile * k * s.products / (m.facts.matrix_flops_32 * 1.3e-9 * share * (s.element_bytes > 4 ? 0.5 : 1));
  // a is read in place; b is copied, and found by the next programs of a group (tilewright/kernels/matmul.h) if all of its blocks are kept.
  // Programs of few rows read it in place (backend/host/contraction.h).
  constexpr double kGroup = 8, kRowsInPlace = 64;
  const bool is_kept = rows > kRowsInPlace && k * columns * s.products * bytes <= kKeptBytes;
  const double readers = is_kept ? std::min(kGroup, parts_of(s.m, c.rows)) : 1;
  // A row of b in memory begins with a line that nothing foresees. Of streamed rows, too many side by side are not foreseen either (measured
  // on Emerald Rapids, 2026-11-30: 1x4096x4096).
  constexpr double kRowInPlace = 12;
  // Pieces of rows come from memory no faster than the processor finds their lines (measured on Zen 5, 2026-12-01: 8x4096x4096 by AVX2 and AVX-512).
  constexpr double kFromMemory = 6, kFarBytes = 4 << 20;
  const bool is_far = !is_streamed && static_cast<double>(s.k * s.n) * bytes > kFarBytes;
  const double row = is_in_place ? kRowInPlace * (is_far ? kFromMemory : 1) : kRow,
               crowd = is_streamed && depth > kSideBySide ? 1 + 0.05 * std::log2(depth / kSideBySide) : 1;
  const double loads = rows * k * (kLoadInPlace + kRow / depth) + s.products * columns * k * (load * crowd + row / columns) / readers;
  Programs p;
  p.count = static_cast<double>(s.batch) * parts_of(s.m, c.rows) * parts_of(s.n, c.columns) * c.splits;
  p.nanoseconds = products + loads + steps * (kStep + 0.02 * tile * s.products) + tile * 0.15 + rows * kRow;
  // One row, a transposed factor: vectors run along k, and their lanes are added up for each column of a step.
  if (c.rows == 1 && s.b_is_transposed) p.nanoseconds += steps * s.products * columns * kLastSum;
  // Where the last columns are masked, b is copied.
  if (is_in_place && has_tail(s.n, c.columns)) {
    p.tails = static_cast<double>(s.batch) * parts_of(s.m, c.rows);
    p.tail_nanoseconds = s.products * columns * k * load;
  }
  p.memory_bytes = static_cast<double>(s.batch) * static_cast<double>(s.m * s.k + s.products * s.k * s.n + s.m * s.n) * s.element_bytes;
  if (c.splits > 1) {
    p.launches = 2;
    p.nanoseconds += 2 * tile * 0.15;
    p.memory_bytes += 2.0 * c.splits * static_cast<double>(s.batch * s.m * s.n) * 4;
  }
  return p;
}

}  // namespace tilewright::kernels::host
