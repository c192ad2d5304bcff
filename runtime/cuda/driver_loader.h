// Loads the CUDA driver of this machine at run time.
#pragma once
#include <functional>

#include "runtime/cuda/driver.h"

namespace tilewright::rt::cuda {

/// The oldest supported driver: CUDA 12.0. Its assembler is the first one that accepts PTX 8.0, which wgmma and bulk copies need, and it
/// has every function of the table, so the runtime needs no second path for older drivers.
inline constexpr int kOldestDriver = 12000;

/// Loads libcuda.so.1 and initialises it. Does not throw: each failure is a reason.
DriverSearch find_driver();

/// As find_driver(), for a library that is already open: `find` returns the address of a symbol or null. Tests call it.
DriverSearch driver_from(const std::function<void*(const char* symbol)>& find);

/// The driver of this process, loaded at the first call.
const DriverSearch& system_driver();

/// "12.4" for 12040.
std::string version_text(int driver_version);

/// The newest PTX ISA version, 10 * major + minor, that a driver's assembler accepts: 80 for CUDA 12.0. It is at least 80.
int ptx_isa_of_driver(int driver_version);

}  // namespace tilewright::rt::cuda
