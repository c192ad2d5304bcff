// Fourier transforms of any length, which are made of small ones: each small transform is in the registers of a lane.
#include "frontend/kernels/problems/fft.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "frontend/kernels/problems/tile_sizes.h"

namespace tilewright::kernels::host {

using namespace host_costs;

Configuration configuration_of(const FftChoice& c) { return {.bn = c.transforms, .num_warps = c.num_warps}; }
FftChoice choice_of(const FftShape&, const Configuration& c) { return {.transforms = c.bn, .num_warps = c.num_warps}; }

std::vector<FftChoice> candidates(const Machine& m, const FftShape& s) {
  std::vector<FftChoice> all;
  for (const int transforms : tile_sizes(s.transforms, 1, m.target.is_gpu() ? 256 : 512))
    if (transforms >= std::min(covering_size(s.transforms, 1, 512), 16))
      all.push_back({.transforms = transforms, .num_warps = std::clamp(transforms / 32, 1, 4)});
  return all;
}

std::string key(const FftShape& s) { return fmt::format("fft {}", rounded_up(s.transforms)); }

void assume_rows(FftShape& s) { s.transforms = kSomeRows; }

Work work(const Machine&, const FftShape& s, const FftChoice& c) {
  Work w;
  w.programs = parts_of(s.transforms, c.transforms);
  w.bytes = c.transforms * 64.0 * s.element_bytes;
  w.operations = c.transforms * 300.0;
  w.memory_bytes = w.bytes * w.programs;
  return w;
}

Programs programs(const Machine&, const FftShape& s, const FftChoice& c) {
  Programs p;
  p.count = parts_of(s.transforms, c.transforms);
  // Many small transforms are computed in vectors. Too many do not fit in the first-level cache, with 16 numbers each.
  p.nanoseconds = kProgram + 60 * kRow + c.transforms * (40 + outside_level1(c.transforms * 32.0 * s.element_bytes, 10));
  p.memory_bytes = p.count * c.transforms * 64.0 * s.element_bytes;
  return p;
}

}  // namespace tilewright::kernels::host
