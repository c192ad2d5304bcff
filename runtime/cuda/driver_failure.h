// What a failed driver call says.
#pragma once
#include <string>

#include "runtime/cuda/driver.h"

namespace tilewright::rt::cuda {

/// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)".
std::string failure_text(const Driver&, const char* call, CUresult);

/// A kernel or the hardware failed: the context is lost, and every later call on it fails with the same code.
bool loses_context(CUresult);

}  // namespace tilewright::rt::cuda
