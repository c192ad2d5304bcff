// The sizes that candidates try, and the extents of keys.
#include "frontend/kernels/problems/tile_sizes.h"

#include <algorithm>

#include "tilewright/ops/library.h"

namespace tilewright::kernels::host {

int covering_size(std::int64_t extent, int least, int most) {
  return static_cast<int>(
      std::clamp<std::int64_t>(next_power_of_two(std::min<std::int64_t>(std::max<std::int64_t>(extent, 1), most)), least, most));
}

std::vector<int> tile_sizes(std::int64_t extent, int least, int most) {
  std::vector<int> all;
  for (int size = least; size <= covering_size(extent, least, most); size *= 2) all.push_back(size);
  return all;
}

std::vector<int> warp_counts(const Machine& m, std::vector<int> of_gpu) { return m.target.is_gpu() ? of_gpu : std::vector{4}; }

std::vector<int> split_counts(const Machine& m, std::int64_t programs, std::int64_t steps, int least_steps) {
  std::vector<int> all = {1};
  for (int parts = 2; parts <= 64 && steps / parts >= least_steps && programs * parts <= 4 * m.target.processors; parts *= 2)
    all.push_back(parts);
  return all;
}

std::vector<int> stage_counts(const Machine& m, std::int64_t step_bytes, std::int64_t other_bytes) {
  if (!m.target.is_gpu()) return {1};
  std::vector<int> all = m.target.sm >= 80 ? std::vector{3, 2, 4} : std::vector{2};
  std::erase_if(all, [&](int count) { return other_bytes + count * step_bytes > m.target.shared_bytes; });
  return all;
}

std::int64_t rounded_up(std::int64_t extent) { return next_power_of_two(std::max<std::int64_t>(extent, 1)); }

}  // namespace tilewright::kernels::host
