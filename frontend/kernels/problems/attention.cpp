// Attention and its gradients: queries of a program, in steps along the keys.
#include "frontend/kernels/problems/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/models/matrix_model.h"
#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace multiprocessor;
using namespace host_costs;

Configuration configuration_of(const AttentionChoice& c) {
  return {.bm = c.queries, .bn = c.keys, .num_warps = c.num_warps, .num_stages = c.num_stages};
}
AttentionChoice choice_of(const AttentionShape&, const Configuration& c) {
  return {.queries = c.bm, .keys = c.bn, .num_warps = c.num_warps, .num_stages = c.num_stages};
}

std::vector<AttentionChoice> candidates(const Machine& m, const AttentionShape& s) {
  std::vector<AttentionChoice> all;
  const bool is_gpu = m.target.is_gpu();
  for (const int queries : tile_sizes(s.queries, 16, is_gpu ? 128 : 256))
    for (const int keys : tile_sizes(s.keys, 16, is_gpu ? 128 : 256))
      for (const int w : warp_counts(m, {1, 2, 4, 8})) {
        const std::int64_t step_bytes = std::int64_t{keys} * (s.depth + s.value_depth) * s.element_bytes;
        const int query_bytes = queries * s.depth * s.element_bytes;
        const int accumulators = queries * (s.value_depth + keys) * (s.backward ? 2 : 1);
        // A warp gets 16 to 64 rows.
        if (is_gpu && (queries < 16 * w || queries > 64 * w || accumulators > w * 32 * 192)) continue;
        for (const int count : stage_counts(m, step_bytes, query_bytes))
          all.push_back({.queries = queries, .keys = keys, .num_warps = w, .num_stages = count});
      }
  if (all.empty()) all.push_back({.queries = 16, .keys = 16, .num_stages = 2});
  return all;
}

std::string key(const AttentionShape& s) {
  return fmt::format("attention {}x{}x{}x{}x{}{}", rounded_up(s.heads), rounded_up(s.queries), rounded_up(s.keys), s.depth, s.value_depth,
                     s.causal ? " causal" : "");
}

void assume_rows(AttentionShape& s) { s.heads = 1, s.queries = kSomeRows; }

double gpu_seconds(const Machine& m, const AttentionShape& s, const AttentionChoice& c) {
  const int e = s.element_bytes;
  const double scores = static_cast<double>(c.queries) * c.keys, depths = s.depth + s.value_depth, step_bytes = c.keys * depths * e;
  // The gradient needs five products instead of two, and the sums of two results.
  const double passes = s.backward ? 2.5 : 1, sums = s.backward ? 2 : 1;
  ProgramLoad p{.warps = static_cast<double>(c.num_warps)};
  p.stages = m.target.sm >= 80 ? c.num_stages : 1;
  p.shared_bytes = p.stages * step_bytes + static_cast<double>(c.queries) * s.depth * e;
  // Registers for sums, queries, scores, and weights in the type of the factors.
  const double word = std::max(1.0, e / 4.0);
  p.registers = kRegisters +
                kTilesAlive * c.queries * (sums * s.value_depth * word + s.depth * e / 4.0 + c.keys * (word + e / 4.0)) / (32 * p.warps) +
                (s.causal ? kMaskRegisters : 0);
  // All warps share the rows, so each reads all keys and values.
  const double moved = (p.warps + 1) * step_bytes, products = 2 * scores * depths;
  p.matrix = passes * products * m.facts.hertz / m.facts.matrix_flops(e);
  p.shared = passes * moved / kSharedBytes;
  p.cache = step_bytes / cache_bytes(m.target);
  p.issue = passes * ((scores * kScoreIssue + c.queries * s.value_depth) / 32 + products * e / kOperationsOfMma + moved / kBytesOfLdmatrix);
  p.spill(m.target);
  p.issue = std::max(p.issue, scores / kExponentials);

  const double heads = static_cast<double>(s.heads), tiles = std::ceil(static_cast<double>(s.queries) / c.queries),
               programs = heads * tiles;
  const double steps = std::ceil(static_cast<double>(s.keys) / c.keys), n = resident(m.target, p),
               start = kStart + c.queries * depths * 2 / kResultBytes;
  double all = 0;
  if (s.causal) {
    // The long programs of each head begin first. Those of the last head begin when most of the work is done, and near the end there are
    // not enough programs for all multiprocessors.
    const double seen = (static_cast<double>(s.keys) - 0.5 * static_cast<double>(s.queries)) / c.keys;
    const double average = std::clamp(seen + std::max(0.5, 0.5 * c.queries / c.keys), 1.0, steps),
                 programs_at_once = m.target.processors * n;
    const double work = programs / programs_at_once * (average * step_clocks(p, n) + start);
    const double before_last = std::max(0.0, 1 - 1 / heads - 0.5 * programs_at_once / programs);
    const double company = std::clamp(std::ceil(tiles / m.target.processors), 1.0, n);
    all = std::max(work, work * before_last + steps * step_clocks(p, company) + start);
  } else {
    p.result_bytes = c.queries * depths * 2;
    all = clocks_of_all(m.target, p, programs, steps);
  }
  const double bytes = heads * static_cast<double>(s.queries + s.keys) * depths * e;
  const double memory = memory_seconds(m, bytes, programs * (steps * (s.causal ? 0.5 : 1) * step_bytes + c.queries * depths * e));
  return std::max(all / m.facts.hertz, memory) + (s.backward ? 3 : 1) * (m.facts.launch_seconds + m.facts.share_seconds);
}

Programs programs(const Machine& m, const AttentionShape& s, const AttentionChoice& c) {
  const double share = s.causal ? std::min(1.0, 0.5 * (1 + static_cast<double>(c.queries) / static_cast<double>(s.keys))) : 1;
  const double steps = std::ceil(parts_of(s.keys, c.keys) * share), keys = steps * c.keys, scores = c.queries * keys,
               depths = s.depth + s.value_depth;
  const double rate = m.facts.matrix_flops_32 * 1e-9 * (s.element_bytes > 4 ? 0.5 : 1);
  Programs p;
  p.count = static_cast<double>(s.heads) * parts_of(s.queries, c.queries);
  p.nanoseconds = kProgram + (2 * scores * depths / rate) * (s.backward ? 3.5 : 1) + scores * 0.15 + keys * depths * 0.18 +
                  steps * c.queries * (1 + 0.085 * s.value_depth);
  p.nanoseconds += scores * outside_level1(4.0 * c.keys * s.depth, 0.06);
  p.memory_bytes = static_cast<double>(s.heads * (s.queries + s.keys)) * depths * s.element_bytes;
  p.launches = s.backward ? 3 : 1;
  return p;
}

}  // namespace tilewright::kernels::host
