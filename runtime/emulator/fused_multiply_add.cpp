// Chooses between the processor's fused multiply-add and the C library's, once.
#include "runtime/emulator/fused_multiply_add.h"

#include <cmath>

#include "runtime/emulator/scalar_types.h"

namespace tilewright::rt::emulator {
namespace {

template <class T>
void by_library(T* result, const T* a, const T* b, const T* c) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = std::fma(a[lane], b[lane], c[lane]);
}

#if defined(__x86_64__)
// The library's function is a call for each lane; these loops become vector instructions.
__attribute__((target("avx2,fma"))) void by_processor(float* result, const float* a, const float* b, const float* c) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
}
__attribute__((target("avx2,fma"))) void by_processor(double* result, const double* a, const double* b, const double* c) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
}
bool has_instruction() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

template <class T>
void choose(T* result, const T* a, const T* b, const T* c) {
#if defined(__x86_64__)
  if (has_instruction()) return by_processor(result, a, b, c);
#endif
  by_library(result, a, b, c);
}

}  // namespace

void fma_lanes(float* result, const float* a, const float* b, const float* c) { choose(result, a, b, c); }
void fma_lanes(double* result, const double* a, const double* b, const double* c) { choose(result, a, b, c); }

}  // namespace tilewright::rt::emulator
