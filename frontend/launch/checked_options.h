// The checks of the grid and the options of a launch, from C++ and from text.
#pragma once
#include <array>
#include <cstdint>

#include "runtime/compile_request.h"
#include "tilewright/launch.h"

namespace tilewright::detail {

/// The grid with all three extents. Throws Error unless it has 1 to 3 positive extents, at most rt::kMostPrograms, which is the same on
/// every device.
std::array<std::int32_t, 3> checked_grid(const Request&, const Grid&);

/// The compile options of a launch without the target, which the caller sets. Throws Error for values that no target accepts.
backend::CompileOptions checked_options(const Request&, const Launch&);

}  // namespace tilewright::detail
