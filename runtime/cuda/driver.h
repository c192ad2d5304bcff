// The CUDA driver API as a table of functions, so that what calls it runs on libcuda, on the emulator and on a test's fake alike.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/driver_types.h"

namespace tilewright::rt::cuda {

/// The functions of one driver. A table in use has every one of them.
struct Driver {
#define TW_CUDA_FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "runtime/cuda/driver_functions.def"
};

/// A driver that was looked for: the table, or why there is none.
struct DriverSearch {
  std::unique_ptr<const Driver> driver;
  int version = 0;     // 1000 * major + 10 * minor; 0 if it did not come to that
  std::string reason;  // empty if there is a driver
};

}  // namespace tilewright::rt::cuda
