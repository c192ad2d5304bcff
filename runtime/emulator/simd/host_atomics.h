// Accesses to global memory by the host. Blocks run on several threads, so an element may be written while another block reads it: in C++
// this is defined only for atomics, whether or not the kernel orders the two.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstring>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// A value of 16 bytes, which is accessed as two halves.
struct Word128 {
  u64 low, high;
  bool operator==(const Word128&) const = default;
};

// The order is selected before the access: if the order is not a constant, GCC emits a sequentially consistent access, which is an exchange
// for a store.

/// Requires: aligned to its width. order: relaxed or acquire.
template <class T>
T load_atomic(const std::byte* at, std::memory_order order = std::memory_order_relaxed) {
  if constexpr (sizeof(T) == sizeof(Word128)) {
    const u64 low = load_atomic<u64>(at, order);
    return {low, load_atomic<u64>(at + sizeof low, order)};
  } else {
    const std::atomic_ref element(*reinterpret_cast<T*>(const_cast<std::byte*>(at)));
    return order == std::memory_order_relaxed ? element.load(std::memory_order_relaxed) : element.load(std::memory_order_acquire);
  }
}
/// Requires: aligned to its width. order: relaxed or release.
template <class T>
void store_atomic(std::byte* at, T value, std::memory_order order = std::memory_order_relaxed) {
  if constexpr (sizeof(T) == sizeof(Word128)) {
    store_atomic(at, value.low, order);
    store_atomic(at + sizeof value.low, value.high, order);
  } else {
    const std::atomic_ref element(*reinterpret_cast<T*>(at));
    if (order == std::memory_order_relaxed)
      element.store(value, std::memory_order_relaxed);
    else
      element.store(value, std::memory_order_release);
  }
}

/// Calls f.operator()<T>(offset) for elements T that together have this number of bytes, a power of two.
template <class F>
void each_element(std::size_t bytes, F f) {
  if (bytes == 1) return f.template operator()<u8>(0);
  if (bytes == 2) return f.template operator()<u16>(0);
  if (bytes == 4) return f.template operator()<u32>(0);
  for (std::size_t at = 0; at < bytes; at += sizeof(u64)) f.template operator()<u64>(at);
}

/// Whether the memory contains these bytes.
inline bool holds(const std::byte* at, const std::byte* value, std::size_t bytes) {
  bool same = true;
  each_element(bytes, [&]<class T>(std::size_t offset) {
    const T element = load_atomic<T>(at + offset);
    same &= std::memcmp(&element, value + offset, sizeof element) == 0;
  });
  return same;
}

/// Loads this number of bytes.
inline void load_bytes(std::byte* to, const std::byte* at, std::size_t bytes, std::memory_order order) {
  each_element(bytes, [&]<class T>(std::size_t offset) {
    const T element = load_atomic<T>(at + offset, order);
    std::memcpy(to + offset, &element, sizeof element);
  });
}

/// Stores these bytes.
inline void store_bytes(std::byte* at, const std::byte* value, std::size_t bytes, std::memory_order order) {
  each_element(bytes, [&]<class T>(std::size_t offset) {
    T element;
    std::memcpy(&element, value + offset, sizeof element);
    store_atomic(at + offset, element, order);
  });
}

}  // namespace tilewright::rt::emulator
