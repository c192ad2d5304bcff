// a * b + c with one rounding for all lanes of a warp, by the processor's instruction where it has one.
#pragma once
#include "runtime/emulator/lanes.h"

namespace tilewright::rt::emulator {

/// result[i] = fma(a[i], b[i], c[i]) for 32 lanes, rounded to nearest.
void fma_lanes(Lanes<float>& result, LanesInPlace<float> a, LanesInPlace<float> b, LanesInPlace<float> c);
void fma_lanes(Lanes<double>& result, LanesInPlace<double> a, LanesInPlace<double> b, LanesInPlace<double> c);

}  // namespace tilewright::rt::emulator
