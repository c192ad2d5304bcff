// The driver table: the CUDA driver API as a struct of function pointers, filled from libcuda, the emulator or a test's fake.
#pragma once
#include <memory>
#include <string>

#include "runtime/cuda/driver_types.h"

namespace tilewright::rt::cuda {

/// The functions of one driver. In a table that is in use no pointer is null.
struct Driver {
#define TW_CUDA_FUNCTION(name, symbol, parameters) CUresult(*name) parameters = nullptr;
#include "runtime/cuda/driver_functions.def"
};

/// The result of loading a driver: the table, or the reason why it could not be loaded.
struct DriverSearch {
  std::unique_ptr<const Driver> driver;
  int version = 0;     // 1000 * major + 10 * minor; 0 if unknown
  std::string reason;  // empty if a driver was found
};

}  // namespace tilewright::rt::cuda
