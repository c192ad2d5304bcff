// The candidates for each kind of problem, and the keys under which measurements are stored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/configuration_space.h"
#include "tileir/diagnostics.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

namespace {

/// The least power of two that covers `extent`, from `least` to `most`.
int cover(std::int64_t extent, int least, int most) {
  return static_cast<int>(
      std::clamp<std::int64_t>(next_power_of_two(std::min<std::int64_t>(std::max<std::int64_t>(extent, 1), most)), least, most));
}

/// The powers of two from `least` to the one that covers `extent`, at most `most`.
std::vector<int> sizes(std::int64_t extent, int least, int most) {
  std::vector<int> all;
  for (int size = least; size <= cover(extent, least, most); size *= 2) all.push_back(size);
  return all;
}

// Warps of a GPU's program. Programs on the cpu have none.
std::vector<int> warps(const Machine& m, std::vector<int> of_gpu) { return m.target.is_gpu() ? of_gpu : std::vector{4}; }

/// The number of parts in which long sums are computed, if there are too few programs for all processors.
std::vector<int> splits(const Machine& m, std::int64_t programs, std::int64_t steps, int least_steps) {
  std::vector<int> all = {1};
  for (int parts = 2; parts <= 64 && steps / parts >= least_steps && programs * parts <= 4 * m.target.processors; parts *= 2)
    all.push_back(parts);
  return all;
}

/// The numbers of loop steps whose loads may be in flight, if a step loads `step_bytes` and `other_bytes` of shared memory are used. Only
/// numbers that fit; the usual number first, because the model keeps this order for equal times. Chips without asynchronous copies use at
/// most 2.
std::vector<int> stages(const Machine& m, std::int64_t step_bytes, std::int64_t other_bytes = 0) {
  if (!m.target.is_gpu()) return {1};
  std::vector<int> all = m.target.sm >= 80 ? std::vector{3, 2, 4} : std::vector{2};
  std::erase_if(all, [&](int count) { return other_bytes + count * step_bytes > m.target.shared_bytes; });
  return all;
}

/// Extents of a step along K. On a GPU its rows have 64 to 256 bytes, and at least 128 for types of 32 bits and more.
std::vector<int> steps(const Machine& m, const ProductShape& s) {
  if (!m.target.is_gpu()) return sizes(s.k, s.least_k, 256);
  std::vector<int> all = sizes(s.k, s.least_k, std::max(256 / s.element_bytes, 32));
  const int least_bytes = s.element_bytes >= 4 ? 128 : 64, longest = all.back();
  std::erase_if(all, [&](int bk) { return bk * s.element_bytes < least_bytes && bk < longest; });
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const ProductShape& s) {
  std::vector<Configuration> all;
  const bool is_gpu = m.target.is_gpu();
  // On a GPU, more than 128 accumulators per thread spill.
  constexpr int kMostAccumulators = 128;
  for (const int bm : sizes(s.m, 16, is_gpu ? 128 : 256))
    for (const int bn : sizes(s.n, 16, 256))
      for (const int bk : steps(m, s))
        for (const int w : warps(m, {1, 2, 4, 8})) {
          if (is_gpu && (s.products * bm * bn > w * 32 * kMostAccumulators || bm * bn < w * 256)) continue;
          const std::int64_t programs = s.batch * cdiv(s.m, std::int64_t{bm}) * cdiv(s.n, std::int64_t{bn});
          const std::vector<int> all_parts = s.can_split ? splits(m, programs, cdiv(s.k, std::int64_t{bk}), 4) : std::vector{1};
          const std::vector<int> counts = stages(m, std::int64_t{bm + s.products * bn} * bk * s.element_bytes);
          for (const int count : counts)
            for (const int parts : all_parts)
              if (parts == 1 || count == counts.front())
                all.push_back({.bm = bm, .bn = bn, .bk = bk, .num_warps = w, .num_stages = count, .splits = parts});
        }
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const MatvecShape& s) {
  std::vector<Configuration> all;
  for (const int bm : sizes(s.m, 1, 64))
    for (const int bk : sizes(s.k, 16, 2048))
      for (const int w : warps(m, {2, 4, 8}))
        if (bm * bk <= 8192 && (!m.target.is_gpu() || bm * bk >= 32 * w || w == 2)) all.push_back({.bm = bm, .bk = bk, .num_warps = w});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const RowsShape& s) {
  std::vector<Configuration> all;
  for (const int bn : sizes(s.n, std::min(64, cover(s.n, 1, 64)), m.target.is_gpu() ? 16384 : 65536))
    for (const int w : warps(m, {1, 2, 4, 8, 16}))
      if (!m.target.is_gpu() || (bn <= 64 * 32 * w && (bn >= 32 * w || w == 1))) all.push_back({.bn = bn, .num_warps = w});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const TopKShape& s) {
  std::vector<Configuration> all;
  for (const int bn : sizes(s.n, s.kept, std::max(s.kept, m.target.is_gpu() ? 4096 : 32768)))
    for (const int w : warps(m, {1, 2, 4, 8}))
      if (!m.target.is_gpu() || w == 8 || (bn <= 512 * w && (bn >= 64 * w || w == 1))) all.push_back({.bn = bn, .num_warps = w});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const ElementsShape& s) {
  std::vector<Configuration> all;
  for (const int bm : sizes(s.rows, 1, 1024))
    for (const int bn : s.whole_rows ? std::vector{cover(s.columns, 1, 65536)} : sizes(s.columns, 1, 16384))
      for (const int w : warps(m, {2, 4, 8})) {
        const bool is_whole = bm >= s.rows && bn >= s.columns, is_small = bm * bn < (m.target.is_gpu() ? 128 * w : 1024);
        const int most_of_host = s.transposed_stride != 0 ? (64 << 10) / s.element_bytes : 32768;
        const bool is_large = bm * bn > (m.target.is_gpu() ? 1024 * w : most_of_host);
        // The tile's rows are short although the matrix's are long: they use only parts of cache lines.
        const bool is_narrow = bn < 16 && bn < s.columns;
        if ((!is_small || is_whole) && !is_large && !is_narrow) all.push_back({.bm = bm, .bn = bn, .num_warps = w});
      }
  if (all.empty()) all.push_back({.bm = 1, .bn = cover(s.columns, 1, 65536)});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const ReductionShape& s) {
  std::vector<Configuration> all;
  const int most_rows = m.target.is_gpu() ? 256 : 1024;
  for (const int bm : sizes(s.m, 1, most_rows))
    for (const int bk : sizes(s.k, 1, s.most_step))
      for (const int w : warps(m, {4, 8})) {
        const int least = std::min(s.most_step > 1 ? 512 : 128, cover(s.m, 1, most_rows) * cover(s.k, 1, s.most_step));
        if (bm * bk < least || bm * bk > (m.target.is_gpu() ? 1024 * w : 16384)) continue;
        for (const int parts : splits(m, s.matrices * cdiv(s.m, std::int64_t{bm}), cdiv(s.k, std::int64_t{bk}), 4))
          all.push_back({.bm = bm, .bk = bk, .num_warps = w, .splits = parts});
      }
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const ScanShape& s) {
  std::vector<Configuration> all;
  for (const int bn : sizes(s.n, std::min(16, cover(s.n, 1, 16)), s.most_block))
    for (const int w : warps(m, {4, 8}))
      if (!m.target.is_gpu() || bn <= 512 * w)
        for (const int parts : splits(m, 1, cdiv(s.n, std::int64_t{bn}), 2)) all.push_back({.bn = bn, .num_warps = w, .splits = parts});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const SparseShape& s) {
  std::vector<Configuration> all;
  for (const int bm : sizes(s.rows, 1, 256))
    for (const int bk : sizes(2 * cdiv(s.nonzeros, std::max<std::int64_t>(s.rows, 1)), 1, 64))
      if (bm * bk <= 2048 && (bm * bk >= 64 || bm >= s.rows)) all.push_back({.bm = bm, .bn = m.target.is_gpu() ? 1024 : 256, .bk = bk});
  if (all.empty()) all.push_back({.bm = cover(s.rows, 1, 16), .bn = 256, .bk = 16});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const FftShape& s) {
  std::vector<Configuration> all;
  for (const int bn : sizes(s.transforms, 1, m.target.is_gpu() ? 256 : 512))
    if (bn >= std::min(cover(s.transforms, 1, 512), 16)) all.push_back({.bn = bn, .num_warps = std::clamp(bn / 32, 1, 4)});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const AttentionShape& s) {
  std::vector<Configuration> all;
  const bool is_gpu = m.target.is_gpu();
  for (const int bm : sizes(s.queries, 16, is_gpu ? 128 : 256))
    for (const int bn : sizes(s.keys, 16, is_gpu ? 128 : 256))
      for (const int w : warps(m, {1, 2, 4, 8})) {
        const std::int64_t step_bytes = std::int64_t{bn} * (s.depth + s.value_depth) * s.element_bytes;
        const int query_bytes = bm * s.depth * s.element_bytes;
        const int accumulators = bm * (s.value_depth + bn) * (s.backward ? 2 : 1);
        // A warp gets 16 to 64 rows.
        if (is_gpu && (bm < 16 * w || bm > 64 * w || accumulators > w * 32 * 192)) continue;
        for (const int count : stages(m, step_bytes, query_bytes)) all.push_back({.bm = bm, .bn = bn, .num_warps = w, .num_stages = count});
      }
  if (all.empty()) all.push_back({.bm = 16, .bn = 16, .num_stages = 2});
  return all;
}

std::vector<Configuration> candidates(const Machine& m, const DecodeShape& s) {
  std::vector<Configuration> all;
  const int bm = cover(s.group, 16, 65536);
  for (const int bn : sizes(s.page_size, 16, 256))
    for (const int w : warps(m, {2, 4}))
      for (const int parts : splits(m, s.sequences, cdiv(s.capacity, std::int64_t{bn}), 4))
        all.push_back({.bm = bm, .bn = bn, .num_warps = w, .num_stages = m.target.is_gpu() ? 2 : 1, .splits = parts});
  return all;
}

// Tiled extents are exact in the key, because they decide on tails and strides. Extents that only decide on the number of programs are
// rounded.
std::int64_t about(std::int64_t extent) { return next_power_of_two(std::max<std::int64_t>(extent, 1)); }

std::string key(const ProductShape& s) {
  return fmt::format("product {}x{}x{}x{}, {} of {} from {}, rows at {} and {}", about(s.batch), about(s.m), s.n, s.k, s.products,
                     s.element_bytes, s.least_k, s.a_alignment, s.b_alignment);
}
std::string key(const MatvecShape& s) { return fmt::format("matvec {}x{}x{}", about(s.batch), about(s.m), s.k); }
std::string key(const RowsShape& s) { return fmt::format("rows {}x{}", about(s.rows), s.n); }
std::string key(const TopKShape& s) { return fmt::format("top_k {}x{}x{}", about(s.rows), about(s.n), s.kept); }
std::string key(const ElementsShape& s) {
  return fmt::format("elements {}x{}x{}, work {}, transposed {}{}", about(s.matrices), about(s.rows), s.columns, s.work,
                     s.transposed_stride, s.has_borders ? ", with borders" : "");
}
std::string key(const ReductionShape& s) {
  return fmt::format("reduction {}x{}x{}{} in steps of {}", about(s.matrices), about(s.m), about(s.k), s.transposed ? " transposed" : "",
                     s.most_step);
}
std::string key(const ScanShape& s) { return fmt::format("scan {}", about(s.n)); }
std::string key(const SparseShape& s) { return fmt::format("sparse {}x{}", about(s.rows), about(s.nonzeros)); }
std::string key(const FftShape& s) { return fmt::format("fft {}", about(s.transforms)); }
std::string key(const AttentionShape& s) {
  return fmt::format("attention {}x{}x{}x{}x{}{}", about(s.heads), about(s.queries), about(s.keys), s.depth, s.value_depth,
                     s.causal ? " causal" : "");
}
std::string key(const DecodeShape& s) {
  return fmt::format("decode {}x{}x{}x{}x{}", about(s.sequences), about(s.capacity), s.page_size, s.group, s.depth);
}

// Results of a batch-invariant launch must not depend on the number of rows, so neither may its configuration. It assumes this number.
constexpr std::int64_t kSomeRows = 64;
void assume_rows(ProductShape& s) {
  s.batch = 1, s.m = kSomeRows;
  // If columns are contiguous, or matrices follow each other, distances may depend on the number of rows. So use the distance of dense
  // rows.
  const std::int64_t row = 128 | s.k * s.element_bytes;
  s.a_alignment = static_cast<int>(row & -row);
}
void assume_rows(MatvecShape& s) { s.batch = 1, s.m = kSomeRows; }
void assume_rows(RowsShape& s) { s.rows = kSomeRows; }
void assume_rows(TopKShape& s) { s.rows = kSomeRows; }
void assume_rows(ElementsShape& s) { s.matrices = 1, s.rows = kSomeRows; }
void assume_rows(ReductionShape& s) { s.matrices = 1, s.m = kSomeRows, s.transposed = false; }
void assume_rows(ScanShape&) {}
void assume_rows(SparseShape& s) { s.rows = kSomeRows, s.nonzeros = 16 * kSomeRows; }
void assume_rows(FftShape& s) { s.transforms = kSomeRows; }
void assume_rows(AttentionShape& s) { s.heads = 1, s.queries = kSomeRows; }
void assume_rows(DecodeShape& s) { s.sequences = 8; }

}  // namespace

std::vector<Configuration> candidates_of(const Machine& m, const Problem& p) {
  std::vector<Configuration> all = std::visit([&](const auto& s) { return candidates(m, s); }, p);
  TW_CHECK(!all.empty(), "no configuration for " + key_of(p));
  return all;
}

std::string key_of(const Problem& p) {
  return std::visit([](const auto& s) { return key(s); }, p);
}

Problem without_batch(Problem p) {
  std::visit([](auto& s) { assume_rows(s); }, p);
  return p;
}

}  // namespace tilewright::kernels::host
