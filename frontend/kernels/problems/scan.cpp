// Prefixes of one sequence: in parts, each in steps.
#include "frontend/kernels/problems/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const ScanChoice& c) { return {.bn = c.step, .num_warps = c.num_warps, .splits = c.splits}; }
ScanChoice choice_of(const ScanShape&, const Configuration& c) { return {.step = c.bn, .num_warps = c.num_warps, .splits = c.splits}; }

std::vector<ScanChoice> candidates(const Machine& m, const ScanShape& s) {
  std::vector<ScanChoice> all;
  const int most = m.target.is_gpu() || s.counters == 0 ? s.most_block : 32768;
  for (const int step : tile_sizes(s.n, std::min(16, covering_size(s.n, 1, 16)), most))
    for (const int w : warp_counts(m, {4, 8}))
      if (!m.target.is_gpu() || step <= 512 * w)
        for (const int parts : split_counts(m, 1, cdiv(s.n, std::int64_t{step}), 2))
          all.push_back({.step = step, .num_warps = w, .splits = parts});
  return all;
}

std::string key(const ScanShape& s) { return fmt::format("scan {}", rounded_up(s.n)); }

void assume_rows(ScanShape&) {}

Work work(const Machine&, const ScanShape& s, const ScanChoice& c) {
  Work w;
  w.programs = c.splits;
  w.steps = std::ceil(parts_of(s.n, c.step) / c.splits);
  const double elements = w.steps * c.step, passes = c.splits > 1 ? 2 : 1;
  w.bytes = elements * s.element_bytes * (passes + 1);
  w.operations = elements * (s.work * 4 + std::log2(static_cast<double>(c.step)));
  w.memory_bytes = static_cast<double>(s.n) * s.element_bytes * (passes + 1);
  w.launches = c.splits > 1 ? 3 : 1;
  return w;
}

namespace {

/// Whether the host back end counts in four tables (backend/host/index.cpp).
bool is_spread(const ScanShape& s) { return s.counters < 1024; }
/// What it counts with: the elements of a step, some of their bins, and the tables.
double counting_bytes(const ScanShape& s, const ScanChoice& c) {
  constexpr double kSlots = 4096;
  return 4.0 * c.step + kSlots + (is_spread(s) ? 16.0 : 4.0) * s.counters;
}

}  // namespace

Programs programs(const Machine&, const ScanShape& s, const ScanChoice& c) {
  const double steps = std::ceil(parts_of(s.n, c.step) / c.splits), passes = c.splits > 1 ? 1.5 : 1;
  // Counting takes an element at a time, whatever the step.
  const double counter = is_spread(s) ? 0.1 : 0.27;  // measured on Emerald Rapids: 256 and 4096 counters
  const double element = s.counters > 0 ? 0.25 * s.work + outside_level1(counting_bytes(s, c), 0.02)
                                        : (c.step <= 32 ? 0.5 : 0.6 + 0.06 * std::log2(c.step / 32.0)) * s.work;
  Programs p;
  p.count = c.splits;
  p.nanoseconds = kProgram + passes * steps * (kStep / 2 + counter * s.counters + c.step * element);
  p.memory_bytes = static_cast<double>(s.n) * s.element_bytes * 2;
  p.launches = c.splits > 1 ? 3 : 1;
  return p;
}

}  // namespace tilewright::kernels::host
