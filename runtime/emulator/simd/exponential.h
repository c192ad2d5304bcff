// 2^x for all lanes of a warp, correctly rounded.
#pragma once
#include "runtime/emulator/simd/lanes.h"

namespace tilewright::rt::emulator {

/// result[i] = 2^x[i], rounded to nearest.
void exp2_lanes(Lanes<float>& result, LanesInPlace<float> x);

}  // namespace tilewright::rt::emulator
