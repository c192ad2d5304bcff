// The sizes that candidates try, and the extents of keys, for all kinds of problems.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "frontend/kernels/models/machine.h"

namespace tilewright::kernels::host {

/// The least power of two that covers `extent`, from `least` to `most`.
int covering_size(std::int64_t extent, int least, int most);
/// The powers of two from `least` to the one that covers `extent`, at most `most`.
std::vector<int> tile_sizes(std::int64_t extent, int least, int most);
/// Warps of a GPU's program. Programs on the cpu have none.
std::vector<int> warp_counts(const Machine&, std::vector<int> of_gpu);
/// The number of parts in which long sums are computed, if there are too few programs for all processors.
std::vector<int> split_counts(const Machine&, std::int64_t programs, std::int64_t steps, int least_steps);
/// The numbers of loop steps whose loads may be in flight, if a step loads `step_bytes` and `other_bytes` of shared memory are used. Only
/// numbers that fit; the usual number first, because the model keeps this order for equal times. Chips without asynchronous copies use at
/// most 2.
std::vector<int> stage_counts(const Machine&, std::int64_t step_bytes, std::int64_t other_bytes = 0);

/// An extent of a key that only decides on the number of programs. Tiled extents are exact in keys, because they decide on tails and
/// strides.
std::int64_t rounded_up(std::int64_t extent);

/// Results of a batch-invariant launch must not depend on the number of rows, so neither may its configuration. It assumes this number.
inline constexpr std::int64_t kSomeRows = 64;

/// How many tiles cover an extent.
inline double parts_of(std::int64_t extent, int size) { return std::ceil(static_cast<double>(extent) / size); }

}  // namespace tilewright::kernels::host
