// Counts the work of a kernel on an emulated GPU, where there is no time to measure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

/// The counters of one launch of a case; several kernels are added up.
struct Counted {
  std::uint64_t programs = 0, instructions = 0;  // executed by warps
  std::uint64_t sectors = 0, least_sectors = 0, wavefronts = 0, least_wavefronts = 0;
  std::uint64_t matrix_products = 0;
  struct Estimate {
    std::string gpu, bound;
    double microseconds;
  };
  std::vector<Estimate> estimates;  // estimated as described in docs/estimate.md
};

/// The counters of an emulated device since the last call.
Counted take_counted(const std::string& device);

}  // namespace tilewright::cli::bench
