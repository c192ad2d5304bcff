// Elements of matrices that are computed on their own or moved: tiles of rows and columns.
#include "frontend/kernels/problems/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const ElementsChoice& c) { return {.bm = c.rows, .bn = c.columns, .num_warps = c.num_warps}; }
ElementsChoice choice_of(const ElementsShape&, const Configuration& c) { return {.rows = c.bm, .columns = c.bn, .num_warps = c.num_warps}; }

namespace {

/// Whether the host back end keeps two tiles in registers that a program computes once and uses for many matrices, as it does with whole
/// rows. More rows have more addresses and masks than a nest that is unrolled may have.
bool is_in_registers(const Machine& m, const ElementsShape& s, int rows) {
  if (m.target.is_gpu() || !s.whole_rows) return false;
  const int lanes = m.target.vector_bits / (8 * std::max(4, s.element_bytes)), most = m.target.vector_bits >= 512 ? 8 : 4;
  return rows <= 2 && rows * parts_of(s.columns, lanes) <= most;
}

}  // namespace

std::vector<ElementsChoice> candidates(const Machine& m, const ElementsShape& s) {
  std::vector<ElementsChoice> all;
  for (const int rows : tile_sizes(s.rows, 1, 1024))
    for (const int columns : s.whole_rows ? std::vector{covering_size(s.columns, 1, 65536)} : tile_sizes(s.columns, 1, 16384))
      for (const int w : warp_counts(m, {2, 4, 8})) {
        const bool is_whole = rows >= s.rows && columns >= s.columns, is_small = rows * columns < (m.target.is_gpu() ? 128 * w : 1024);
        const int most_of_host = s.transposed_stride != 0 ? (64 << 10) / s.element_bytes : 32768;
        const bool is_large = rows * columns > (m.target.is_gpu() ? 1024 * w : most_of_host);
        // The tile's rows are short although the matrix's are long: they use only parts of cache lines.
        const bool is_narrow = columns < 16 && columns < s.columns;
        if ((!is_small || is_whole || is_in_registers(m, s, rows)) && !is_large && !is_narrow)
          all.push_back({.rows = rows, .columns = columns, .num_warps = w});
      }
  if (all.empty()) all.push_back({.rows = 1, .columns = covering_size(s.columns, 1, 65536)});
  return all;
}

std::string key(const ElementsShape& s) {
  return fmt::format("elements {}x{}x{}, work {}, transposed {}{}", rounded_up(s.matrices), rounded_up(s.rows), s.columns, s.work,
                     s.transposed_stride, s.has_borders ? ", with borders" : "");
}

void assume_rows(ElementsShape& s) { s.matrices = 1, s.rows = kSomeRows; }

Work work(const Machine& m, const ElementsShape& s, const ElementsChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.matrices) * parts_of(s.rows, c.rows) * (s.whole_rows ? 1 : parts_of(s.columns, c.columns));
  const double elements = static_cast<double>(c.rows) * c.columns;
  w.bytes = lines(m, c.rows, c.columns, s.element_bytes) +
            (s.transposed_stride != 0 ? lines(m, c.columns, c.rows, s.element_bytes) : lines(m, c.rows, c.columns, s.element_bytes));
  w.operations = elements * s.work + 4.0 * c.rows;
  w.memory_bytes = 2.0 * static_cast<double>(s.matrices * s.rows * s.columns) * s.element_bytes;
  return w;
}

Programs programs(const Machine& m, const ElementsShape& s, const ElementsChoice& c) {
  // Elements past the end of a row take no time.
  const double tiles = s.whole_rows ? 1 : parts_of(s.columns, c.columns), columns = static_cast<double>(s.columns) / tiles,
               tile = c.rows * columns;
  Programs p;
  p.count = static_cast<double>(s.matrices) * parts_of(s.rows, c.rows) * tiles;
  p.memory_bytes = 2.0 * static_cast<double>(s.matrices * s.rows * s.columns) * s.element_bytes;
  double element = s.whole_rows ? (is_in_registers(m, s, c.rows) ? 0.05 : 0.1) * s.work : 0.07 + 0.02 * s.work;
  // If the first elements of rows are masked, each vector has a mask.
  if (s.has_borders) element += 0.5 / tiles;
  if (s.transposed_stride == 0) {
    // Larger tiles interrupt the streams that the processor prefetches.
    element += tile * s.element_bytes > kLevel1Bytes / 2 ? 0.04 : 0;
  } else {
    // Blocks are transposed in registers. Long runs help both reads and writes, and those along the rows more.
    element += 0.1 + 0.05 * std::max(0.0, std::log2(256.0 / c.rows));
    // Rows that begin within a line share it with the next tile, which finds it in the caches only if tiles are small (measured on Zen 5,
    // 2026-11-25).
    // What counts more is that each run along a row or a column of the tile has one such line (measured on Emerald Rapids, 2026-11-30:
    // 4095x4097).
    constexpr double kLineBytes = 64, kSharedLine = 1.3;
    const bool shares_lines = s.transposed_stride % 64 != 0 && p.memory_bytes > kCacheBytes;
    const double line = kLineBytes / s.element_bytes;
    if (shares_lines)
      element += 0.07 * std::max(0.0, std::log2(tile * s.element_bytes / 8192)) + kSharedLine * (line / c.rows + line / columns);
  }
  // Each row of a tile with borders begins with the address and the mask of every element that is read beside it.
  const double row = s.has_borders ? 3.0 * s.work : s.transposed_stride == 0 ? kRow : kRow / 2;
  p.nanoseconds = kProgram + tile * element + c.rows * row;
  return p;
}

}  // namespace tilewright::kernels::host
