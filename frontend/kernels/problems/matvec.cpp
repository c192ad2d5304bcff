// Products of matrices and vectors: rows of the result, in steps along k.
#include "frontend/kernels/problems/matvec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const MatvecChoice& c) { return {.bm = c.rows, .bk = c.step, .num_warps = c.num_warps}; }
MatvecChoice choice_of(const MatvecShape&, const Configuration& c) { return {.rows = c.bm, .step = c.bk, .num_warps = c.num_warps}; }

std::vector<MatvecChoice> candidates(const Machine& m, const MatvecShape& s) {
  std::vector<MatvecChoice> all;
  for (const int rows : tile_sizes(s.m, 1, 64))
    for (const int step : tile_sizes(s.k, 16, 2048))
      for (const int w : warp_counts(m, {2, 4, 8}))
        if (rows * step <= 8192 && (!m.target.is_gpu() || rows * step >= 32 * w || w == 2))
          all.push_back({.rows = rows, .step = step, .num_warps = w});
  return all;
}

std::string key(const MatvecShape& s) { return fmt::format("matvec {}x{}x{}", rounded_up(s.batch), rounded_up(s.m), s.k); }

void assume_rows(MatvecShape& s) { s.batch = 1, s.m = kSomeRows; }

Work work(const Machine& m, const MatvecShape& s, const MatvecChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.batch) * parts_of(s.m, c.rows);
  w.steps = parts_of(s.k, c.step);
  const double elements = static_cast<double>(c.rows) * c.step * w.steps;
  w.bytes = w.steps * (lines(m, c.rows, c.step, s.element_bytes) + c.step * s.element_bytes);
  w.operations = 2 * elements + 2.0 * c.rows * c.step;
  w.memory_bytes = static_cast<double>(s.batch * s.m * s.k) * s.element_bytes;
  return w;
}

namespace {

/// The number of vectors in a row of a tile.
double vectors_of_row(const Machine& m, const MatvecShape& s, const MatvecChoice& c) {
  return parts_of(c.step, m.target.vector_bits / (8 * std::max(4, s.element_bytes)));
}

/// Whether the host back end keeps the sums in registers: half of them at most, with two more for the vector.
bool has_sums_in_registers(const Machine& m, const MatvecShape& s, const MatvecChoice& c) {
  const double vectors = vectors_of_row(m, s, c);
  const int most = m.target.vector_bits >= 512 ? 16 : 8;
  return m.target.has_masked_memory && c.rows * vectors <= most && (c.rows + 1) * vectors <= most + 2;
}

/// The cost of an element of the matrix while the sums are in registers (measured on Ice Lake, data in the second cache, 2026-11-28).
double element_in_registers(const Machine& m, const MatvecShape& s, const MatvecChoice& c) {
  constexpr int kWays = 8;  // rows at a distance of a power of two are in one set of the first cache
  return 0.06 + 0.002 * vectors_of_row(m, s, c) + (c.rows > kWays ? 0.03 : 0);
}

}  // namespace

Programs programs(const Machine& m, const MatvecShape& s, const MatvecChoice& c) {
  const double tile = static_cast<double>(c.rows) * c.step, steps = parts_of(s.k, c.step);
  Programs p;
  p.count = static_cast<double>(s.batch) * parts_of(s.m, c.rows);
  const bool in_registers = has_sums_in_registers(m, s, c);
  const double element = in_registers ? element_in_registers(m, s, c) : 0.13 + outside_level1(tile * 4 * 4, 0.02);
  const double row = in_registers ? 0 : 3, step = in_registers ? 0 : kStep;
  const double last_sums = in_registers ? 10.0 * c.rows : tile * 0.1;
  const double vector = 0.015 + (4.0 * static_cast<double>(s.k) > kLevel1Bytes ? 0.05 : 0);
  p.nanoseconds = steps * (tile * element + c.step * vector + c.rows * row + step) + last_sums;
  p.tails = has_tail(s.m, c.rows) ? static_cast<double>(s.batch) : 0;
  p.tail_nanoseconds = steps * tile * kMasked;
  p.memory_bytes = static_cast<double>(s.batch * s.m * s.k) * s.element_bytes;
  return p;
}

}  // namespace tilewright::kernels::host
