// The pool of registers that warps of a block give back.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

struct Warp;

/// The warp gives its registers above `kept` to the block's pool, where others may wait for them.
void return_registers(Warp&, u32 kept);

}  // namespace tilewright::rt::emulator
