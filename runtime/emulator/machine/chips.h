// The limits of the GPUs that emulated devices represent.
#pragma once
#include <string_view>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// CUDA C++ Programming Guide, "Compute Capabilities", technical specifications per compute capability.
struct Chip {
  int capability = 0;                         // 90 for "sm_90a"
  u64 shared_of_block = 0, shared_of_sm = 0;  // bytes: the most that a block can have, and all of a multiprocessor
  int threads_of_sm = 0;
};
/// The chip of a target; for a target without a row, the limits that every GPU supports.
Chip chip_of(std::string_view target);

}  // namespace tilewright::rt::emulator
