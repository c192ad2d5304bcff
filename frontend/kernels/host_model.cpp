// The model of programs on the cpu: the time of one program, as the sum of the costs of rows, steps and elements of its loops.
//
// Times are in nanoseconds, fitted to all candidates of 42 kernels and shapes on a core of an AMD EPYC (Zen 5, AVX-512), 2026-11-25. They
// only rank configurations. Other processors, none of which was measured, are assumed to differ by one factor.
#include <algorithm>
#include <cmath>

#include "frontend/kernels/models.h"

namespace tilewright::kernels::host {

namespace {

constexpr double kLevel1Bytes = 32 << 10;  // first-level cache, which one tile may fill
constexpr double kLevel2Bytes = 4 << 20;   // the caches of one core and its neighbourhood
constexpr double kCacheBytes = 16 << 20;   // the last-level cache, as far as a launch can rely on it
constexpr double kRow = 4;                 // cost of a row of a tile: addresses, masks, and other scalar work
constexpr double kStep = 10;               // cost of a step of a program's loop
constexpr double kProgram = 100;           // cost of a program
constexpr double kLoad = 0.085;            // cost of loading an element of a tile for a product
constexpr double kMasked = 5;              // extra cost of an element if the tile has rows past the end: no vectors
constexpr double kMaskedInRow = 0.1;       // extra cost of an element if only the end of a row is masked
constexpr double kExponential = 0.165;

/// The programs of one launch. The last programs along the rows may have rows past the end.
struct Programs {
  double count = 1, nanoseconds = 0;
  double tails = 0, tail_nanoseconds = 0;  // how many programs have such rows, and the extra time of each
  double memory_bytes = 0;
  double launches = 1;
};

double parts_of(std::int64_t extent, int size) { return std::ceil(static_cast<double>(extent) / size); }
bool has_tail(std::int64_t extent, int size) { return extent % size != 0; }

/// The extra cost of an element if its tile is larger than the first-level cache.
double outside_level1(double bytes, double for_each_doubling) {
  return bytes > kLevel1Bytes ? for_each_doubling * std::log2(bytes / kLevel1Bytes) : 0;
}

Programs programs_of(const Machine& m, const ProductShape& s, const Configuration& c) {
  const double bm = c.bm, bn = c.bn, bk = c.bk, tile = bm * bn;
  const double steps = std::ceil(parts_of(s.k, c.bk) / c.splits), k = steps * bk, step_bytes = (bm + s.products * bn) * bk * 4;
  const double load = kLoad + outside_level1(step_bytes, 0.015);
  // Two vectors of columns fill the registers of the inner loop.
  const double lanes = m.target.lanes(), share = bn >= 2 * lanes ? 1 : bn >= lanes ? 0.55 : 0.55 * bn / lanes;
  // The columns of b that one vector loop reads, over all of k, should stay in the first-level cache.
  const double panel = 1 + outside_level1(bk * 2 * lanes * 4 * 2, 0.07);
  const double products = panel * 2 * tile * k * s.products / (m.facts.matrix_flops_32 * 1.3e-9 * share * (s.element_bytes > 4 ? 0.5 : 1));
  const double loads = bm * k * (load + kRow / bk) + s.products * bn * k * (load + kRow / bn);
  Programs p;
  p.count = static_cast<double>(s.batch) * parts_of(s.m, c.bm) * parts_of(s.n, c.bn) * c.splits;
  p.nanoseconds = products + loads + steps * (kStep + 0.02 * tile * s.products) + tile * 0.15 + bm * kRow;
  p.memory_bytes = static_cast<double>(s.batch) * static_cast<double>(s.m * s.k + s.products * s.k * s.n + s.m * s.n) * s.element_bytes;
  if (c.splits > 1) {
    p.launches = 2;
    p.nanoseconds += 2 * tile * 0.15;
    p.memory_bytes += 2.0 * c.splits * static_cast<double>(s.batch * s.m * s.n) * 4;
  }
  return p;
}

Programs programs_of(const Machine&, const MatvecShape& s, const Configuration& c) {
  const double tile = static_cast<double>(c.bm) * c.bk, steps = parts_of(s.k, c.bk);
  Programs p;
  p.count = static_cast<double>(s.batch) * parts_of(s.m, c.bm);
  // The sums of one row stay in registers; the vector is loaded once per program.
  const double element = (c.bm == 1 ? 0.045 : 0.06) + outside_level1(tile * 4 * 4, 0.02);
  const double vector = 0.015 + (4.0 * static_cast<double>(s.k) > kLevel1Bytes ? 0.05 : 0);
  p.nanoseconds = steps * (tile * element + c.bk * vector + c.bm * 3 + kStep) + tile * 0.1;
  p.tails = has_tail(s.m, c.bm) ? static_cast<double>(s.batch) : 0;
  p.tail_nanoseconds = steps * tile * kMasked;
  p.memory_bytes = static_cast<double>(s.batch * s.m * s.k) * s.element_bytes;
  return p;
}

Programs programs_of(const Machine&, const RowsShape& s, const Configuration& c) {
  Programs p;
  p.count = static_cast<double>(s.rows);
  p.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes * (s.arrays + 1);
  const double bytes = 4.0 * c.bn, n = static_cast<double>(s.n);
  const double exponentials = kExponential * s.exponentials;
  if (s.once && c.bn >= s.n) {
    p.nanoseconds = kProgram + c.bn * (0.12 + exponentials + outside_level1(bytes, 0.1 * (s.passes - 1)));
    return p;
  }
  const double steps = parts_of(s.n, c.bn);
  // Rescaling sums costs one more exponential.
  const double element = 0.05 * s.arrays + (s.once ? s.passes + 1 : s.passes) * exponentials / s.passes + outside_level1(4 * bytes, 0.02) +
                         (s.exponentials > 0 ? outside_level1(16 * bytes, 0.05) : 0);
  const double tail = has_tail(s.n, c.bn) ? c.bn * kMaskedInRow : 0;
  p.nanoseconds = kProgram + s.passes * (n * element + steps * (2 + (s.exponentials > 0 ? kStep : 0)) + tail);
  // The lanes of the sums are combined once per row.
  p.nanoseconds += c.bn * (0.02 + 4 * exponentials);
  return p;
}

Programs programs_of(const Machine&, const TopKShape& s, const Configuration& c) {
  Programs p;
  p.count = static_cast<double>(s.rows);
  p.memory_bytes = static_cast<double>(s.rows * s.n) * s.element_bytes;
  // In random order, element i is among the k largest so far with probability k / i. Only such elements are sorted.
  const double kept = s.kept, steps = parts_of(s.n, c.bn), sorted = kept * (1 + std::log(c.bn / kept));
  p.nanoseconds = kProgram + steps * (kStep + 0.5 * c.bn + 12 * sorted) + (steps - 1) * 7 * kept;
  return p;
}

Programs programs_of(const Machine&, const ElementsShape& s, const Configuration& c) {
  // Elements past the end of a row take no time.
  const double tiles = s.whole_rows ? 1 : parts_of(s.columns, c.bn), columns = static_cast<double>(s.columns) / tiles,
               tile = c.bm * columns;
  Programs p;
  p.count = static_cast<double>(s.matrices) * parts_of(s.rows, c.bm) * tiles;
  p.memory_bytes = 2.0 * static_cast<double>(s.matrices * s.rows * s.columns) * s.element_bytes;
  double element = 0.07 + 0.02 * s.work;
  // If the first elements of rows are masked, each vector has a mask.
  if (s.has_borders) element += 0.5 / tiles;
  if (s.transposed_stride == 0) {
    // Larger tiles interrupt the streams that the processor prefetches.
    element += tile * s.element_bytes > kLevel1Bytes / 2 ? 0.04 : 0;
  } else {
    // Blocks are transposed in registers. Long runs help both reads and writes, and those along the rows more.
    element += 0.1 + 0.05 * std::max(0.0, std::log2(256.0 / c.bm));
    // Rows that begin within a line share it with the next tile, which finds it in the caches only if tiles are small.
    const bool shares_lines = s.transposed_stride % 64 != 0 && p.memory_bytes > kCacheBytes;
    if (shares_lines) element += 0.07 * std::max(0.0, std::log2(tile * s.element_bytes / 8192));
  }
  p.nanoseconds = kProgram + tile * element + c.bm * (s.transposed_stride == 0 ? kRow : kRow / 2);
  return p;
}

Programs programs_of(const Machine&, const ReductionShape& s, const Configuration& c) {
  const double tile = static_cast<double>(c.bm) * c.bk, steps = std::ceil(parts_of(s.k, c.bk) / c.splits), bk = c.bk;
  Programs p;
  const double rows = static_cast<double>(s.matrices) * parts_of(s.m, c.bm);
  p.count = rows * c.splits;
  p.memory_bytes = static_cast<double>(s.matrices * s.m * s.k) * s.element_bytes;
  // Each contiguous run of the tile adds a cost: runs are along k or, if columns are contiguous, along m.
  const double element = s.transposed ? 0.03 + 3.3 / c.bm + 0.03 / bk : 0.045 + 2.6 / bk + 0.004 * std::max(std::log2(bk / 1024), 0.0);
  p.nanoseconds = kProgram + steps * (kStep + tile * element);
  // Several rows, each read in parts, are more streams than the processor can prefetch.
  if (!s.transposed && c.bm > 1 && bk < static_cast<double>(s.k) && p.memory_bytes > kLevel2Bytes) p.nanoseconds += steps * tile * 0.2;
  if (s.transposed && has_tail(s.k, c.bk)) p.nanoseconds += tile * kMasked / 2;
  if (has_tail(s.m, c.bm) && !s.transposed)
    p.tails = static_cast<double>(s.matrices) * c.splits, p.tail_nanoseconds = steps * std::min(c.bm, 40) * bk * kMasked;
  p.launches = c.splits > 1 ? 2 : 1;
  return p;
}

Programs programs_of(const Machine&, const ScanShape& s, const Configuration& c) {
  const double steps = std::ceil(parts_of(s.n, c.bn) / c.splits), passes = c.splits > 1 ? 1.5 : 1;
  const double element = (c.bn <= 32 ? 0.5 : 0.6 + 0.06 * std::log2(c.bn / 32.0)) * s.work;
  Programs p;
  p.count = c.splits;
  p.nanoseconds = kProgram + passes * steps * (kStep / 2 + c.bn * element);
  p.memory_bytes = static_cast<double>(s.n) * s.element_bytes * 2;
  p.launches = c.splits > 1 ? 3 : 1;
  return p;
}

Programs programs_of(const Machine&, const SparseShape& s, const Configuration& c) {
  const double row = static_cast<double>(s.nonzeros) / std::max(1.0, static_cast<double>(s.rows)), steps = std::ceil(row / c.bk);
  Programs p;
  p.count = parts_of(s.rows, c.bm);
  p.nanoseconds = kProgram + steps * (kStep + c.bm * (kRow + c.bk * 1.0)) + c.bm * c.bk * 0.3;
  p.memory_bytes = static_cast<double>(s.nonzeros) * (s.element_bytes + 4);
  return p;
}

Programs programs_of(const Machine&, const FftShape& s, const Configuration& c) {
  Programs p;
  p.count = parts_of(s.transforms, c.bn);
  // Many small transforms are computed in vectors. Too many do not fit in the first-level cache, with 16 numbers each.
  p.nanoseconds = kProgram + 60 * kRow + c.bn * (40 + outside_level1(c.bn * 32.0 * s.element_bytes, 10));
  p.memory_bytes = p.count * c.bn * 64.0 * s.element_bytes;
  return p;
}

Programs programs_of(const Machine& m, const AttentionShape& s, const Configuration& c) {
  const double share = s.causal ? std::min(1.0, 0.5 * (1 + static_cast<double>(c.bm) / static_cast<double>(s.keys))) : 1;
  const double steps = std::ceil(parts_of(s.keys, c.bn) * share), keys = steps * c.bn, scores = c.bm * keys,
               depths = s.depth + s.value_depth;
  const double rate = m.facts.matrix_flops_32 * 1e-9 * (s.element_bytes > 4 ? 0.5 : 1);
  Programs p;
  p.count = static_cast<double>(s.heads) * parts_of(s.queries, c.bm);
  p.nanoseconds = kProgram + (2 * scores * depths / rate) * (s.backward ? 3.5 : 1) + scores * 0.15 + keys * depths * 0.18 +
                  steps * c.bm * (1 + 0.085 * s.value_depth);
  p.nanoseconds += scores * outside_level1(4.0 * c.bn * s.depth, 0.06);
  p.memory_bytes = static_cast<double>(s.heads * (s.queries + s.keys)) * depths * s.element_bytes;
  p.launches = s.backward ? 3 : 1;
  return p;
}

Programs programs_of(const Machine& m, const DecodeShape& s, const Configuration& c) {
  const double steps = std::ceil(static_cast<double>(s.capacity) / c.bn / c.splits), keys = steps * c.bn, scores = keys * c.bm;
  Programs p;
  p.count = static_cast<double>(s.sequences) * c.splits;
  p.nanoseconds = kProgram + 4 * scores * s.depth / (m.facts.matrix_flops_32 * 1e-9) + scores * 0.15 + keys * 2 * s.depth * 0.18 +
                  steps * c.bm * (1 + 0.085 * s.depth) + scores * outside_level1(4.0 * c.bn * s.depth, 0.15);
  p.memory_bytes = static_cast<double>(s.sequences * s.capacity) * 2 * s.depth * s.element_bytes;
  p.launches = c.splits > 1 ? 2 : 1;
  return p;
}

}  // namespace

double host_seconds(const Machine& m, const Problem& problem, const Configuration& c) {
  const Programs p = std::visit([&](const auto& s) { return programs_of(m, s, c); }, problem);
  const double threads = m.target.processors;
  const double work = (p.count * p.nanoseconds + p.tails * p.tail_nanoseconds) / threads;
  const double busiest =
      std::max({work, std::ceil(p.count / threads) * p.nanoseconds, p.tails > 0 ? p.nanoseconds + p.tail_nanoseconds : 0});
  const double computed = busiest * 1e-9, moved = p.memory_bytes / m.facts.memory_bytes;
  constexpr double kApart = 0.25;  // the share of the shorter one that does not overlap with the longer one
  return std::max(computed, moved) + kApart * std::min(computed, moved) +
         p.launches * (m.facts.launch_seconds + (p.count > 1 ? m.facts.share_seconds : 0));
}

}  // namespace tilewright::kernels::host
