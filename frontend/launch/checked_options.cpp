// Checks the grid and the options of a launch.
#include "frontend/launch/checked_options.h"

#include <fmt/format.h>

#include "runtime/device.h"
#include "runtime/environment.h"

namespace tilewright::detail {

std::array<std::int32_t, 3> checked_grid(const Request& request, const Grid& grid) {
  if (grid.rank() < 1 || grid.rank() > 3) request.refuse(fmt::format("the grid has {} extents; it must have 1 to 3", grid.rank()));
  std::array<std::int32_t, 3> extents{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (grid[i] < 1) request.refuse(fmt::format("the grid has {1} programs along axis {0}; there must be at least 1", i, grid[i]));
    if (grid[i] > rt::kMostPrograms[i])
      request.refuse(fmt::format("the grid has {1} programs along axis {0}; there must be at most {2} on every device", i, grid[i],
                                 rt::kMostPrograms[i]));
    extents[i] = static_cast<std::int32_t>(grid[i]);
  }
  return extents;
}

backend::CompileOptions checked_options(const Request& request, const Launch& launch) {
  const int warps = launch.num_warps;
  if (warps < 1 || warps > 32 || (warps & (warps - 1)) != 0)
    request.refuse(fmt::format("num_warps is {}; it must be 1, 2, 4, 8, 16 or 32", warps));
  if (launch.num_stages && (*launch.num_stages < 1 || *launch.num_stages > 8))
    request.refuse(fmt::format("num_stages is {}; it must be 1 to 8", *launch.num_stages));
  backend::CompileOptions options;
  options.num_warps = warps;
  options.num_stages = launch.num_stages.value_or(0);
  options.check = launch.check || rt::environment_check();
  options.contract = launch.contract;
  return options;
}

}  // namespace tilewright::detail
