// Runs the kernels of Triton that tests/ptx/README.md describes on the emulator, and compares what they compute with references in double.
#pragma once
#include <string>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// `name` is the file name without ".ptx": "softmax_f32_1024.sm_80". Returns an error text; empty if the values are right and there are no
/// reports. Throws Error if the text is refused, and std::runtime_error for a kernel without a case.
std::string check_triton_kernel(const std::string& name, const std::string& ptx, AsyncOrder = AsyncOrder::lazy);

}  // namespace tilewright::rt::emulator
