// The pool of registers that warps of a block have returned.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;

/// Returns the warp's registers above `kept` to the block's pool, where other warps may wait for them.
void return_registers(Warp&, u32 kept);

}  // namespace tilewright::rt::emulator
