// Counts what a kernel does on an emulated GPU, which has no times to measure.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/cli/bench/measuring/contender.h"

namespace tilewright::cli::bench {

/// Of one launch of a case; several kernels are added up.
struct Counted {
  std::uint64_t programs = 0, instructions = 0;  // of warps
  std::uint64_t sectors = 0, least_sectors = 0, wavefronts = 0, least_wavefronts = 0;
  std::uint64_t matrix_products = 0;
  struct Estimate {
    std::string gpu, bound;
    double microseconds;
  };
  std::vector<Estimate> estimates;  // by docs/estimate.md
};

/// What was counted on an emulated device since the last call.
Counted take_counted(const std::string& device);

}  // namespace tilewright::cli::bench
