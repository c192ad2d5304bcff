// a * b + c with one rounding for all lanes of a warp, by the processor's instruction where it has one.
#pragma once

namespace tilewright::rt::emulator {

/// result[i] = fma(a[i], b[i], c[i]) for 32 lanes, rounded to nearest.
void fma_lanes(float* result, const float* a, const float* b, const float* c);
void fma_lanes(double* result, const double* a, const double* b, const double* c);

}  // namespace tilewright::rt::emulator
