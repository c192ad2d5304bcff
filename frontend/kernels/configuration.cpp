// Chooses tile sizes and launch options by shape, element type and kind of device.
#include "tilewright/kernels/configuration.h"

#include <algorithm>

#include "runtime/device.h"
#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

namespace {

/// Programs that a device runs at once, at least: fewer leave parts of it idle.
struct DeviceFacts {
  bool is_gpu;
  std::int64_t programs;
};
DeviceFacts facts_of(const Device& device) {
  const bool is_gpu = device.handle()->target().starts_with("sm_");
  return {is_gpu, is_gpu ? 132 : 8};
}

/// The least power of two that covers `extent`, from `least` to `most`.
int cover(std::int64_t extent, int least, int most) {
  return static_cast<int>(std::clamp<std::int64_t>(next_power_of_two(std::min<std::int64_t>(extent, most)), least, most));
}

// On a GPU a step is 128 bytes of each row of a: a line of L2, and few enough that several steps fit in shared memory.
int step_along_k(const DeviceFacts& facts, std::int64_t k, int element_bytes) {
  return cover(k, 16, facts.is_gpu ? std::clamp(128 / element_bytes, 16, 64) : 64);
}

}  // namespace

Configuration product_configuration(const Device& device, const ProductShape& s, const Options& options) {
  if (options.configuration) return *options.configuration;
  const DeviceFacts facts = facts_of(device);
  Configuration c;
  c.bk = step_along_k(facts, s.k, s.element_bytes);
  if (options.batch_invariant) {
    // One configuration for all m: the order of the sum over k must not depend on it.
    c.bm = facts.is_gpu ? 64 : 32;
    c.bn = cover(s.n, 16, facts.is_gpu ? 128 : 64);
    return c;
  }
  const bool is_wide = !facts.is_gpu || s.element_bytes <= 2;
  c.bm = cover(s.m, 16, facts.is_gpu && is_wide ? 128 : 64);
  c.bn = cover(s.n, 16, is_wide ? 128 : 64);
  const auto tiles = [&] { return s.batch * cdiv(s.m, static_cast<std::int64_t>(c.bm)) * cdiv(s.n, static_cast<std::int64_t>(c.bn)); };
  // Smaller tiles where there are too few for every multiprocessor.
  while (facts.is_gpu && tiles() < facts.programs && std::max(c.bm, c.bn) > 32) (c.bm >= c.bn ? c.bm : c.bn) /= 2;
  c.num_warps = c.bm * c.bn >= 128 * 128 ? 8 : c.bm * c.bn >= 32 * 64 ? 4 : 2;
  c.num_stages = facts.is_gpu ? 3 : 1;
  // Parts of at least 8 steps each, where one sum is long and there are few of them.
  const std::int64_t steps = cdiv(s.k, static_cast<std::int64_t>(c.bk));
  if (tiles() * 2 <= facts.programs)
    c.splits = static_cast<int>(
        std::max<std::int64_t>(1, std::min({facts.programs / std::max<std::int64_t>(tiles(), 1), steps / 8, std::int64_t{16}})));
  return c;
}

Configuration matvec_configuration(const Device& device, std::int64_t m, std::int64_t k, const Options& options) {
  if (options.configuration) return *options.configuration;
  Configuration c;
  c.bk = cover(k, 16, 512);
  c.bm = options.batch_invariant ? 4 : cover(m, 1, facts_of(device).is_gpu ? 4 : 8);
  return c;
}

Configuration row_configuration(const Device& device, std::int64_t n, const Options& options) {
  if (options.configuration) return *options.configuration;
  Configuration c;
  // A row that fits is read once; a longer one in steps.
  c.bn = n <= 8192 ? cover(n, 1, 8192) : 4096;
  c.num_warps = facts_of(device).is_gpu ? std::clamp(c.bn / 256, 1, 8) : 1;
  return c;
}

Configuration element_configuration(const Device& device, std::int64_t rows, std::int64_t columns, const Options& options) {
  if (options.configuration) return *options.configuration;
  Configuration c;
  // Square tiles where both extents are large: either axis may be the contiguous one.
  const int elements = facts_of(device).is_gpu ? 2048 : 4096;
  c.bn = cover(columns, 1, rows <= 8 ? elements : 64);
  c.bm = cover(rows, 1, elements / c.bn);
  return c;
}

Configuration reduce_configuration(const Device& device, const ReduceShape& s, const Options& options) {
  if (options.configuration) return *options.configuration;
  const bool is_gpu = facts_of(device).is_gpu;
  // How rows are combined must then depend on their length alone.
  const std::int64_t m = options.batch_invariant ? 64 : s.m;
  // On a cpu long pieces of memory, which its prefetchers follow.
  const int elements = is_gpu ? 2048 : 4096, piece = is_gpu ? 64 : 1024;
  Configuration c;
  if (s.has_dense_columns && !options.batch_invariant) {
    c.bm = cover(m, 1, piece);
    c.bk = cover(s.k, 1, elements / c.bm);
  } else {
    c.bk = cover(s.k, 1, m <= 8 ? elements : piece);
    c.bm = cover(m, 1, elements / c.bk);
  }
  const std::int64_t tiles = options.batch_invariant ? 1 : s.matrices * cdiv(m, static_cast<std::int64_t>(c.bm));
  // Parts of at least 4 steps each.
  const std::int64_t most = std::max<std::int64_t>(s.k / c.bk / 4, 1);
  c.splits = static_cast<int>(std::min(most, cdiv(4 * facts_of(device).programs, std::max<std::int64_t>(tiles, 1))));
  return c;
}

Configuration scan_configuration(const Device& device, std::int64_t n, const Options& options) {
  if (options.configuration) return *options.configuration;
  const DeviceFacts facts = facts_of(device);
  Configuration c;
  c.bn = cover(n, 1, facts.is_gpu ? 1024 : 4096);
  c.splits = static_cast<int>(std::clamp<std::int64_t>(n / c.bn / 4, 1, 4 * facts.programs));
  return c;
}

Configuration sparse_configuration(const Device& device, std::int64_t rows, std::int64_t nonzeros, const Options& options) {
  if (options.configuration) return *options.configuration;
  const DeviceFacts facts = facts_of(device);
  Configuration c;
  c.bn = facts.is_gpu ? 1024 : 256;
  c.bk = options.batch_invariant ? 16 : cover(cdiv(nonzeros, std::max<std::int64_t>(rows, 1)), 1, 64);
  c.bm = cover(rows, 1, 1024 / c.bk);
  while (!options.batch_invariant && c.bm > 1 && cdiv(rows, std::int64_t{c.bm}) < 2 * facts.programs) c.bm /= 2;
  return c;
}

Configuration fft_configuration(const Device& device, std::int64_t transforms, const Options& options) {
  if (options.configuration) return *options.configuration;
  Configuration c;
  c.bn = cover(transforms, 1, facts_of(device).is_gpu ? 128 : 64);
  c.num_warps = std::clamp(c.bn / 32, 1, 4);
  return c;
}

Configuration attention_configuration(const Device& device, std::int64_t queries, std::int64_t keys, int depth, int element_bytes,
                                      const Options& options) {
  if (options.configuration) return *options.configuration;
  const DeviceFacts facts = facts_of(device);
  Configuration c;
  const bool is_small = depth * element_bytes <= 256;
  c.bm = options.batch_invariant ? 64 : cover(queries, 16, is_small ? 128 : 64);
  c.bn = cover(keys, 16, is_small ? 64 : 32);
  c.num_warps = c.bm >= 128 ? 8 : 4;
  c.num_stages = facts.is_gpu ? 2 : 1;
  return c;
}

Configuration decode_configuration(const Device& device, const DecodeShape& s, const Options& options) {
  if (options.configuration) return *options.configuration;
  const DeviceFacts facts = facts_of(device);
  Configuration c;
  c.bm = cover(s.group, 16, 65536);
  c.bn = cover(s.page_size, 16, 64);
  c.num_stages = facts.is_gpu ? 2 : 1;
  // Parts of at least 256 keys. Their number decides on the order of sums, so it may depend on the capacity alone.
  const std::int64_t most = std::clamp<std::int64_t>(s.capacity / 256, 1, 64);
  const std::int64_t wanted = options.batch_invariant ? 16 : cdiv(2 * facts.programs, std::max<std::int64_t>(s.sequences, 1));
  c.splits = static_cast<int>(std::min(most, wanted));
  return c;
}

}  // namespace tilewright::kernels::host
