// CPU dispatch: functions are compiled for several instruction sets (function multiversioning), and the processor runs the best one.
#pragma once
#include <utility>

namespace tilewright::rt::emulator {

#if defined(__x86_64__)
#if defined(__clang__)
#define TW_WIDE_VECTORS
#else
#define TW_WIDE_VECTORS ",prefer-vector-width=512"
#endif

template <auto F>
struct CompiledVariants;
template <class Result, class... Parameters, Result (*F)(Parameters...)>
struct CompiledVariants<F> {
  __attribute__((target("avx2"), flatten)) static Result avx2(Parameters... values) { return F(values...); }
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" TW_WIDE_VECTORS), flatten)) static Result avx512(Parameters... values) {
    return F(values...);
  }
};
#undef TW_WIDE_VECTORS
#endif

/// F with vectors of up to 256 bits. These have no fused multiply-add, so that results of floats are the same everywhere.
template <auto F>
auto dispatch_without_fma() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return &CompiledVariants<F>::avx2;
#endif
  return F;
}

inline bool has_wide_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

/// F with the widest available vectors. Requires: F adds no product of floats except by std::fma; a compiler could otherwise fuse the
/// two.
template <auto F>
auto dispatch() {
#if defined(__x86_64__)
  if (has_wide_vectors()) return &CompiledVariants<F>::avx512;
#endif
  return dispatch_without_fma<F>();
}

/// Calls F with vectors of up to 256 bits: wider loads of memory that smaller stores have just written would stall (no store forwarding).
template <auto F, class... Values>
auto call_dispatched(Values&&... values) {
  static const auto chosen = dispatch_without_fma<F>();
  return chosen(std::forward<Values>(values)...);
}

}  // namespace tilewright::rt::emulator
