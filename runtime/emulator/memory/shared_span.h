// A part of a block's shared memory.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct SharedSpan {
  u32 offset, bytes;
};

}  // namespace tilewright::rt::emulator
