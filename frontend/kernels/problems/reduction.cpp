// Rows that are reduced to one element each: several rows at a time, long ones in parts.
#include "frontend/kernels/problems/reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const ReductionChoice& c) {
  return {.bm = c.rows, .bk = c.step, .num_warps = c.num_warps, .splits = c.splits};
}
ReductionChoice choice_of(const ReductionShape&, const Configuration& c) {
  return {.rows = c.bm, .step = c.bk, .num_warps = c.num_warps, .splits = c.splits};
}

std::vector<ReductionChoice> candidates(const Machine& m, const ReductionShape& s) {
  std::vector<ReductionChoice> all;
  const int most_rows = m.target.is_gpu() ? 256 : 1024;
  for (const int rows : tile_sizes(s.m, 1, most_rows))
    for (const int step : tile_sizes(s.k, 1, s.most_step))
      for (const int w : warp_counts(m, {4, 8})) {
        const int least = std::min(s.most_step > 1 ? 512 : 128, covering_size(s.m, 1, most_rows) * covering_size(s.k, 1, s.most_step));
        if (rows * step < least || rows * step > (m.target.is_gpu() ? 1024 * w : 16384)) continue;
        for (const int parts : split_counts(m, s.matrices * cdiv(s.m, std::int64_t{rows}), cdiv(s.k, std::int64_t{step}), 4))
          all.push_back({.rows = rows, .step = step, .num_warps = w, .splits = parts});
      }
  return all;
}

std::string key(const ReductionShape& s) {
  return fmt::format("reduction {}x{}x{}{} in steps of {}", rounded_up(s.matrices), rounded_up(s.m), rounded_up(s.k),
                     s.transposed ? " transposed" : "", s.most_step);
}

void assume_rows(ReductionShape& s) { s.matrices = 1, s.m = kSomeRows, s.transposed = false; }

Work work(const Machine& m, const ReductionShape& s, const ReductionChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.matrices) * parts_of(s.m, c.rows) * c.splits;
  w.steps = std::ceil(parts_of(s.k, c.step) / c.splits);
  w.bytes = w.steps * (s.transposed ? lines(m, c.step, c.rows, s.element_bytes) : lines(m, c.rows, c.step, s.element_bytes));
  // Threads that share a row combine their results with shuffles.
  const double threads = 32.0 * c.num_warps, sharing = std::min<double>(std::max(threads / c.rows, 1.0), c.step);
  w.operations = w.steps * (3.0 * c.rows * c.step + threads * 8 * std::log2(sharing));
  w.memory_bytes = static_cast<double>(s.matrices * s.m * s.k) * s.element_bytes;
  w.launches = c.splits > 1 ? 2 : 1;
  return w;
}

Programs programs(const Machine&, const ReductionShape& s, const ReductionChoice& c) {
  const double tile = static_cast<double>(c.rows) * c.step, steps = std::ceil(parts_of(s.k, c.step) / c.splits), step = c.step;
  Programs p;
  const double rows = static_cast<double>(s.matrices) * parts_of(s.m, c.rows);
  p.count = rows * c.splits;
  p.memory_bytes = static_cast<double>(s.matrices * s.m * s.k) * s.element_bytes;
  // Each contiguous run of the tile adds a cost: runs are along k or, if columns are contiguous, along m.
  const double element =
      s.transposed ? 0.03 + 3.3 / c.rows + 0.03 / step : 0.045 + 2.6 / step + 0.004 * std::max(std::log2(step / 1024), 0.0);
  p.nanoseconds = kProgram + steps * (kStep + tile * element);
  // Several rows, each read in parts, are more streams than the processor can prefetch.
  if (!s.transposed && c.rows > 1 && step < static_cast<double>(s.k) && p.memory_bytes > kLevel2Bytes) p.nanoseconds += steps * tile * 0.2;
  if (s.transposed && has_tail(s.k, c.step)) p.nanoseconds += tile * kMasked / 2;
  if (has_tail(s.m, c.rows) && !s.transposed)
    p.tails = static_cast<double>(s.matrices) * c.splits, p.tail_nanoseconds = steps * std::min(c.rows, 40) * step * kMasked;
  p.launches = c.splits > 1 ? 2 : 1;
  return p;
}

}  // namespace tilewright::kernels::host
