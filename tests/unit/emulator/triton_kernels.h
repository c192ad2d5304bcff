// Runs the kernels of Triton that tests/ptx/README.md describes on the emulator, and compares what they compute with references in double.
#pragma once
#include <string>

#include "runtime/emulator/machine/emulator.h"

namespace tilewright::rt::emulator {

/// `name` is that of the file without ".ptx": "softmax_f32_1024.sm_80". Empty if the values are right and nothing was found; else what is
/// wrong. Throws Error if the text is refused, and std::runtime_error for a kernel that it has no case for.
std::string check_triton_kernel(const std::string& name, const std::string& ptx, AsyncOrder = AsyncOrder::lazy);

}  // namespace tilewright::rt::emulator
