// The largest elements of rows, a program each: a step is sorted and merged with what is kept.
#include "frontend/kernels/problems/top_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const TopKChoice& c) { return {.bn = c.step, .num_warps = c.num_warps}; }
TopKChoice choice_of(const TopKShape&, const Configuration& c) { return {.step = c.bn, .num_warps = c.num_warps}; }

std::vector<TopKChoice> candidates(const Machine& m, const TopKShape& s) {
  std::vector<TopKChoice> all;
  for (const int step : tile_sizes(s.n, s.kept, std::max(s.kept, m.target.is_gpu() ? 4096 : 32768)))
    for (const int w : warp_counts(m, {1, 2, 4, 8}))
      if (!m.target.is_gpu() || w == 8 || (step <= 512 * w && (step >= 64 * w || w == 1))) all.push_back({.step = step, .num_warps = w});
  return all;
}

std::string key(const TopKShape& s) { return fmt::format("top_k {}x{}x{}", rounded_up(s.rows), rounded_up(s.n), s.kept); }

void assume_rows(TopKShape& s) { s.rows = kSomeRows; }

Work work(const Machine&, const TopKShape& s, const TopKChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.rows);
  w.steps = parts_of(s.n, c.step);
  // Number of compare-exchanges in a bitonic sort of n keys and their indices.
  const auto exchanges = [](double n) { return n * std::log2(n) * (std::log2(n) + 1) / 4; };
  w.operations = 8 * (w.steps * exchanges(c.step) + (w.steps - 1) * exchanges(2.0 * s.kept));
  w.bytes = w.steps * c.step * s.element_bytes;
  w.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes;
  return w;
}

Programs programs(const Machine&, const TopKShape& s, const TopKChoice& c) {
  Programs p;
  p.count = static_cast<double>(s.rows);
  p.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes;
  // In random order, element i is among the k largest so far with probability k / i. Only such elements are sorted.
  const double kept = s.kept, steps = parts_of(s.n, c.step), sorted = kept * (1 + std::log(c.step / kept));
  p.nanoseconds = kProgram + steps * (kStep + 0.5 * c.step + 12 * sorted) + (steps - 1) * 7 * kept;
  return p;
}

}  // namespace tilewright::kernels::host
