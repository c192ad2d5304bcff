// Makes the primary context of a CUDA device current on this thread, for libraries that work in the current context.
#pragma once
#include "runtime/cuda/driver.h"
#include "tilewright/device.h"

namespace tilewright::cli::bench {

/// The number N in "cuda:N".
int ordinal_of(const Device&);

/// Makes the context of a device current and returns the driver. Throws std::runtime_error if there is no driver, or if it refuses.
const rt::cuda::Driver& use_primary_context(const Device&);

}  // namespace tilewright::cli::bench
