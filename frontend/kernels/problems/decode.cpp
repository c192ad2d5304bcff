// Attention of single queries over a cache: the heads of a group together, the keys in parts.
#include "frontend/kernels/problems/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const DecodeChoice& c) {
  return {.bm = c.heads, .bn = c.keys, .num_warps = c.num_warps, .num_stages = c.num_stages, .splits = c.splits};
}
DecodeChoice choice_of(const DecodeShape&, const Configuration& c) {
  return {.heads = c.bm, .keys = c.bn, .num_warps = c.num_warps, .num_stages = c.num_stages, .splits = c.splits};
}

std::vector<DecodeChoice> candidates(const Machine& m, const DecodeShape& s) {
  std::vector<DecodeChoice> all;
  // A matrix instruction has 16 rows; hosts need no row beside the group's.
  const int heads = covering_size(s.group, m.target.is_gpu() ? 16 : 1, 65536);
  for (const int keys : tile_sizes(s.page_size, 16, 256))
    for (const int w : warp_counts(m, {2, 4}))
      for (const int parts : split_counts(m, s.sequences, cdiv(s.capacity, std::int64_t{keys}), 4))
        all.push_back({.heads = heads, .keys = keys, .num_warps = w, .num_stages = m.target.is_gpu() ? 2 : 1, .splits = parts});
  return all;
}

std::string key(const DecodeShape& s) {
  return fmt::format("decode {}x{}x{}x{}x{}", rounded_up(s.sequences), rounded_up(s.capacity), s.page_size, s.group, s.depth);
}

void assume_rows(DecodeShape& s) { s.sequences = 8; }

Work work(const Machine&, const DecodeShape& s, const DecodeChoice& c) {
  Work w;
  w.programs = static_cast<double>(s.sequences) * c.splits;
  w.steps = std::ceil(static_cast<double>(s.capacity) / c.keys / c.splits);
  const double keys = w.steps * c.keys, scores = keys * c.heads;
  w.bytes = keys * 2 * s.depth * s.element_bytes + 8.0 * c.heads * s.depth;
  w.products = 4 * scores * s.depth;
  w.operations = scores * 6 + w.steps * c.heads * (s.depth * 3 + 10);
  w.exponentials = scores;
  w.memory_bytes = static_cast<double>(s.sequences * s.capacity) * 2 * s.depth * s.element_bytes;
  w.launches = c.splits > 1 ? 2 : 1;
  return w;
}

Programs programs(const Machine& m, const DecodeShape& s, const DecodeChoice& c) {
  const double steps = std::ceil(static_cast<double>(s.capacity) / c.keys / c.splits), keys = steps * c.keys, scores = keys * c.heads;
  Programs p;
  p.count = static_cast<double>(s.sequences) * c.splits;
  p.nanoseconds = kProgram + 4 * scores * s.depth / (m.facts.matrix_flops_32 * 1e-9) + scores * 0.15 + keys * 2 * s.depth * 0.18 +
                  steps * c.heads * (1 + 0.085 * s.depth) + scores * outside_level1(4.0 * c.keys * s.depth, 0.15);
  p.memory_bytes = static_cast<double>(s.sequences * s.capacity) * 2 * s.depth * s.element_bytes;
  p.launches = c.splits > 1 ? 2 : 1;
  return p;
}

}  // namespace tilewright::kernels::host
