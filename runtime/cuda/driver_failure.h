// The texts of failed driver calls.
#pragma once
#include <string>
#include <string_view>

#include "runtime/cuda/driver.h"

namespace tilewright::rt::cuda {

/// "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2: out of memory)" followed by the details.
std::string failure_text(const Driver&, const char* call, CUresult, std::string_view details = {});

/// Whether the code means that a kernel or the hardware failed: the context is lost, and every later call fails with the same code.
bool loses_context(CUresult);

}  // namespace tilewright::rt::cuda
