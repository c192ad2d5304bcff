// Products of sparse matrices and vectors: several rows at a time, or one long row.
#include "frontend/kernels/problems/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const SparseChoice& c) {
  return {.bm = c.rows, .bn = c.long_row, .bk = c.nonzeros, .num_warps = c.num_warps};
}
SparseChoice choice_of(const SparseShape&, const Configuration& c) {
  return {.rows = c.bm, .long_row = c.bn, .nonzeros = c.bk, .num_warps = c.num_warps};
}

std::vector<SparseChoice> candidates(const Machine& m, const SparseShape& s) {
  std::vector<SparseChoice> all;
  for (const int rows : tile_sizes(s.rows, 1, 256))
    for (const int nonzeros : tile_sizes(2 * cdiv(s.nonzeros, std::max<std::int64_t>(s.rows, 1)), 1, 64))
      if (rows * nonzeros <= 2048 && (rows * nonzeros >= 64 || rows >= s.rows))
        all.push_back({.rows = rows, .long_row = m.target.is_gpu() ? 1024 : 256, .nonzeros = nonzeros});
  if (all.empty()) all.push_back({.rows = covering_size(s.rows, 1, 16), .long_row = 256, .nonzeros = 16});
  return all;
}

std::string key(const SparseShape& s) { return fmt::format("sparse {}x{}", rounded_up(s.rows), rounded_up(s.nonzeros)); }

void assume_rows(SparseShape& s) { s.rows = kSomeRows, s.nonzeros = 16 * kSomeRows; }

Work work(const Machine&, const SparseShape& s, const SparseChoice& c) {
  Work w;
  w.programs = parts_of(s.rows, c.rows);
  const double nonzeros_of_row = static_cast<double>(s.nonzeros) / std::max(1.0, static_cast<double>(s.rows));
  w.steps = std::ceil(nonzeros_of_row / c.nonzeros);
  const double elements = w.steps * c.rows * c.nonzeros;
  w.bytes = elements * (2 * s.element_bytes + 4);
  w.operations = elements * 4;
  w.memory_bytes = static_cast<double>(s.nonzeros) * (s.element_bytes + 4);
  return w;
}

Programs programs(const Machine&, const SparseShape& s, const SparseChoice& c) {
  const double nonzeros_of_row = static_cast<double>(s.nonzeros) / std::max(1.0, static_cast<double>(s.rows)),
               steps = std::ceil(nonzeros_of_row / c.nonzeros);
  Programs p;
  p.count = parts_of(s.rows, c.rows);
  p.nanoseconds = kProgram + steps * (kStep + c.rows * (kRow + c.nonzeros * 1.0)) + c.rows * c.nonzeros * 0.3;
  p.memory_bytes = static_cast<double>(s.nonzeros) * (s.element_bytes + 4);
  return p;
}

}  // namespace tilewright::kernels::host
