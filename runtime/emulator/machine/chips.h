// What the GPUs have that emulated devices stand for.
#pragma once
#include <string_view>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// CUDA C++ Programming Guide, "Compute Capabilities", technical specifications per compute capability.
struct Chip {
  int capability = 0;                         // 90 of "sm_90a"
  u64 shared_of_block = 0, shared_of_sm = 0;  // bytes of shared memory, the most that a block can have and those of a multiprocessor
  int threads_of_sm = 0;
};
/// Of a target by name; of one without a row, what every GPU has.
Chip chip_of(std::string_view target);

}  // namespace tilewright::rt::emulator
