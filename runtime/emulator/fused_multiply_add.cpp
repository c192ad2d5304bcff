// Chooses between the processor's fused multiply-add and the C library's, once.
#include "runtime/emulator/fused_multiply_add.h"

#include <cmath>

namespace tilewright::rt::emulator {
namespace {

template <class T>
using Sum = void (*)(T* __restrict result, LanesInPlace<T> a, LanesInPlace<T> b, LanesInPlace<T> c);

template <class T>
void by_library(T* __restrict result, LanesInPlace<T> a, LanesInPlace<T> b, LanesInPlace<T> c) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = std::fma(a[lane], b[lane], c[lane]);
}

#if defined(__x86_64__)
// The library's function is a call for each lane; these loops become vector instructions.
template <class T>
__attribute__((target("avx2,fma"))) void by_avx2(T* __restrict result, LanesInPlace<T> a, LanesInPlace<T> b, LanesInPlace<T> c) {
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = std::fma(a[lane], b[lane], c[lane]);
}
#endif

template <class T>
Sum<T> fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return by_avx2<T>;
#endif
  return by_library<T>;
}

}  // namespace

void fma_lanes(Lanes<float>& result, LanesInPlace<float> a, LanesInPlace<float> b, LanesInPlace<float> c) {
  static const Sum<float> sum = fastest<float>();
  sum(result.at, a, b, c);
}
void fma_lanes(Lanes<double>& result, LanesInPlace<double> a, LanesInPlace<double> b, LanesInPlace<double> c) {
  static const Sum<double> sum = fastest<double>();
  sum(result.at, a, b, c);
}

}  // namespace tilewright::rt::emulator
