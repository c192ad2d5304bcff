// Values of all lanes of a warp at once.
#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

template <class T>
struct Lanes {
  alignas(64) T at[kLanes];
  T& operator[](int lane) { return at[lane]; }
  const T& operator[](int lane) const { return at[lane]; }
};

/// Element l has bit l set: converts masks to vectors without shifts.
inline constexpr auto kLaneBit = [] {
  std::array<Mask, kLanes> bits{};
  for (int lane = 0; lane < kLanes; ++lane) bits[lane] = Mask{1} << lane;
  return bits;
}();

inline bool has_lane(Mask mask, int lane) { return (mask >> lane) & 1; }
/// The lanes of a mask, in ascending order.
class LanesOf {
 public:
  explicit LanesOf(Mask mask) : mask_(mask) {}
  LanesOf begin() const { return *this; }
  std::default_sentinel_t end() const { return {}; }
  int operator*() const { return __builtin_ctz(mask_); }
  void operator++() { mask_ &= mask_ - 1; }
  bool operator!=(std::default_sentinel_t) const { return mask_ != 0; }

 private:
  Mask mask_;
};
/// for (const int lane : lanes_of(mask))
inline LanesOf lanes_of(Mask mask) { return LanesOf(mask); }

/// The number of lanes in a mask. A full mask needs no popcount, which is a call on processors without that instruction.
inline int count_of(Mask mask) { return mask == kAllLanes ? kLanes : __builtin_popcount(mask); }

/// Values of all lanes, which are copied lane by lane where a loop needs them.
template <class T>
class LanesInPlace {
 public:
  explicit LanesInPlace(const std::byte* at) : at_(at) {}
  explicit LanesInPlace(const Lanes<T>& values) : at_(reinterpret_cast<const std::byte*>(values.at)) {}
  T operator[](int lane) const {
    T value;
    std::memcpy(&value, at_ + static_cast<std::size_t>(lane) * sizeof(T), sizeof(T));
    return value;
  }

 private:
  const std::byte* at_;
};

// Precedes a loop over lanes in which no lane reads what another lane writes.
#if defined(__clang__)
#define TW_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TW_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

}  // namespace tilewright::rt::emulator
