// Rows that are computed on their own, a program each: softmax, norms, losses.
#include "frontend/kernels/problems/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const RowsChoice& c) { return {.bn = c.step, .num_warps = c.num_warps}; }
RowsChoice choice_of(const RowsShape&, const Configuration& c) { return {.step = c.bn, .num_warps = c.num_warps}; }

std::vector<RowsChoice> candidates(const Machine& m, const RowsShape& s) {
  std::vector<RowsChoice> all;
  for (const int step : tile_sizes(s.n, std::min(64, covering_size(s.n, 1, 64)), m.target.is_gpu() ? 16384 : 65536))
    for (const int w : warp_counts(m, {1, 2, 4, 8, 16}))
      if (!m.target.is_gpu() || (step <= 64 * 32 * w && (step >= 32 * w || w == 1))) all.push_back({.step = step, .num_warps = w});
  return all;
}

std::string key(const RowsShape& s) { return fmt::format("rows {}x{}", rounded_up(s.rows), s.n); }

void assume_rows(RowsShape& s) { s.rows = kSomeRows; }

Work work(const Machine&, const RowsShape& s, const RowsChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.rows);
  const bool fits = s.once && c.step >= s.n;
  w.steps = parts_of(s.n, c.step) * (fits ? 1 : s.passes);
  const double elements = w.steps * c.step;
  w.bytes = elements * s.element_bytes * s.arrays + static_cast<double>(s.n) * s.element_bytes;
  w.operations = 4 * elements + c.step;
  w.exponentials = s.exponentials * (fits ? elements : 2 * elements);
  w.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes * (s.arrays + 1);
  return w;
}

Programs programs(const Machine&, const RowsShape& s, const RowsChoice& c) {
  Programs p;
  p.count = static_cast<double>(s.rows);
  p.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes * (s.arrays + 1);
  const double bytes = 4.0 * c.step, n = static_cast<double>(s.n);
  const double exponentials = kExponential * s.exponentials;
  if (s.once && c.step >= s.n) {
    p.nanoseconds = kProgram + c.step * (0.12 + exponentials + outside_level1(bytes, 0.1 * (s.passes - 1)));
    return p;
  }
  const double steps = parts_of(s.n, c.step);
  // Rescaling sums costs one more exponential.
  const double element = 0.05 * s.arrays + (s.once ? s.passes + 1 : s.passes) * exponentials / s.passes + outside_level1(4 * bytes, 0.02) +
                         (s.exponentials > 0 ? outside_level1(16 * bytes, 0.05) : 0);
  const double tail = has_tail(s.n, c.step) ? c.step * kMaskedInRow : 0;
  p.nanoseconds = kProgram + s.passes * (n * element + steps * (2 + (s.exponentials > 0 ? kStep : 0)) + tail);
  // The lanes of the sums are combined once per row.
  p.nanoseconds += c.step * (0.02 + 4 * exponentials);
  return p;
}

}  // namespace tilewright::kernels::host
