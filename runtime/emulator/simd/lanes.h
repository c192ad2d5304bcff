// Values of all lanes of a warp at once, to and from its register file, and instructions that are one function of each lane's values.
#pragma once
#include <cstring>
#include <tuple>
#include <utility>

#include "runtime/emulator/machine/machine.h"
#include "runtime/emulator/simd/cpu_dispatch.h"

namespace tilewright::rt::emulator {

template <class T>
struct Lanes {
  alignas(64) T at[kLanes];
  T& operator[](int lane) { return at[lane]; }
  const T& operator[](int lane) const { return at[lane]; }
};

/// Has bit l set in element l: masks become vectors without shifts.
inline constexpr auto kLaneBit = [] {
  std::array<Mask, kLanes> bits{};
  for (int lane = 0; lane < kLanes; ++lane) bits[static_cast<std::size_t>(lane)] = Mask{1} << lane;
  return bits;
}();

inline bool has_lane(Mask mask, int lane) { return (mask >> lane) & 1; }
/// Mostly it is all of them, and counting bits is a call on processors that have no instruction for it.
inline int count_of(Mask mask) { return mask == kAllLanes ? kLanes : __builtin_popcount(mask); }

// Copies, and not references into the register file: the same bytes are integers to one instruction and floats to the next, and a
// destination may be a source.
template <class T>
Lanes<T> read(const Warp& warp, s32 slot) {
  Lanes<T> values;
  std::memcpy(values.at, warp.registers + slot, sizeof values.at);
  return values;
}

/// The same, copied lane by lane where a loop wants them, for those that are done with them before they write.
template <class T>
class LanesInPlace {
 public:
  LanesInPlace(const Warp& warp, s32 slot) : at_(warp.registers + slot) {}
  explicit LanesInPlace(const Lanes<T>& values) : at_(reinterpret_cast<const std::byte*>(values.at)) {}
  T operator[](int lane) const {
    T value;
    std::memcpy(&value, at_ + static_cast<std::size_t>(lane) * sizeof(T), sizeof(T));
    return value;
  }

 private:
  const std::byte* at_;
};

template <class T>
[[gnu::noinline]] void write_some(Warp& warp, s32 slot, const Lanes<T>& values, Mask mask) {
  Lanes<T> merged = read<T>(warp, slot);
  for (int lane = 0; lane < kLanes; ++lane) merged[lane] = mask & kLaneBit[lane] ? values[lane] : merged[lane];
  std::memcpy(warp.registers + slot, merged.at, sizeof merged.at);
}

template <class T>
inline void write(Warp& warp, s32 slot, const Lanes<T>& values, Mask mask) {
  if (slot < 0) return;
  if (mask != kAllLanes) {
    // A copy: values whose address nobody else sees are computed for several lanes at once.
    const Lanes<T> copy = values;
    return write_some(warp, slot, copy, mask);
  }
  std::memcpy(warp.registers + slot, values.at, sizeof values.at);
}

inline Mask read_mask(const Warp& warp, s32 slot) {
  Mask mask;
  std::memcpy(&mask, warp.registers + slot, sizeof mask);
  return mask;
}

inline void write_mask(Warp& warp, s32 slot, Mask value, Mask mask) {
  if (slot < 0) return;
  const Mask merged = (read_mask(warp, slot) & ~mask) | (value & mask);
  std::memcpy(warp.registers + slot, &merged, sizeof merged);
}

/// A predicate operand: field k of the instruction, negated where it says "!%p".
inline Mask read_predicate(const Warp& warp, const Instruction& instruction, int k) {
  const Mask mask = read_mask(warp, instruction.slot[static_cast<std::size_t>(k)]);
  return (instruction.negated >> k) & 1 ? ~mask : mask;
}

// Ahead of a loop over lanes in which none of them reads what another one writes.
#if defined(__clang__)
#define TW_INDEPENDENT_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define TW_INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

template <auto F>
class Elementwise;
template <class Result, class... Values, Result (*F)(Values...)>
class Elementwise<F> {
 public:
  static void execute(Warp& warp, const Instruction& i, Mask mask) { map(warp, i, mask, std::index_sequence_for<Values...>{}); }

 private:
  template <std::size_t... I>
  static void map(Warp& warp, const Instruction& i, Mask mask, std::index_sequence<I...>) {
    const std::tuple<LanesInPlace<Values>...> inputs{LanesInPlace<Values>(warp, i.slot[I + 1])...};
    if (i.slot[0] < 0) return;
    std::byte* const to = warp.registers + i.slot[0];
    // The destination is one of the sources, or apart from all of them: see assign_slots().
    if (mask == kAllLanes) {
      TW_INDEPENDENT_LANES
      for (int lane = 0; lane < kLanes; ++lane) {
        const Result result = F(std::get<I>(inputs)[lane]...);
        std::memcpy(to + static_cast<std::size_t>(lane) * sizeof result, &result, sizeof result);
      }
      return;
    }
    TW_INDEPENDENT_LANES
    for (int lane = 0; lane < kLanes; ++lane) {
      const Result result = F(std::get<I>(inputs)[lane]...);
      Result kept;
      std::memcpy(&kept, to + static_cast<std::size_t>(lane) * sizeof kept, sizeof kept);
      kept = mask & kLaneBit[lane] ? result : kept;
      std::memcpy(to + static_cast<std::size_t>(lane) * sizeof kept, &kept, sizeof kept);
    }
  }
};

/// The handler of an instruction whose destination is F of its sources, in their order. Requires: F adds no product of floats to anything,
/// but by std::fma.
template <auto F>
Handler elementwise() {
  return for_processor<Elementwise<F>::execute>();
}
/// The same for all F.
template <auto F>
Handler elementwise_without_fma() {
  return for_processor_without_fma<Elementwise<F>::execute>();
}

}  // namespace tilewright::rt::emulator
