// Reads and writes values of all lanes in a warp's register file, and makes handlers that apply one function to each lane's values.
#pragma once
#include <cstring>
#include <tuple>
#include <utility>

#include "runtime/emulator/program/program.h"
#include "runtime/emulator/simd/cpu_dispatch.h"
#include "runtime/emulator/simd/lanes.h"
#include "runtime/emulator/state/warp.h"

namespace tilewright::rt::emulator {

// Copies, and not references into the register file: the same bytes are integers for one instruction and floats for the next, and a
// destination may be a source.
template <class T>
Lanes<T> read(const Warp& warp, s32 slot) {
  Lanes<T> values;
  std::memcpy(values.at, warp.registers + slot, sizeof values.at);
  return values;
}

/// As above, but copied lane by lane where a loop needs them; for callers that finish reading before they write.
template <class T>
LanesInPlace<T> read_in_place(const Warp& warp, s32 slot) {
  return LanesInPlace<T>(warp.registers + slot);
}

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
    // A copy, since the compiler vectorises loops only over values whose address does not escape.
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

/// A predicate operand: field k of the instruction, negated if the text has "!%p".
inline Mask read_predicate(const Warp& warp, const Instruction& instruction, int k) {
  const Mask mask = read_mask(warp, instruction.slot[k]);
  return (instruction.negated >> k) & 1 ? ~mask : mask;
}

template <auto F>
class Elementwise;
template <class Result, class... Values, Result (*F)(Values...)>
class Elementwise<F> {
 public:
  static void execute(Warp& warp, const Instruction& i, Mask mask) { map(warp, i, mask, std::index_sequence_for<Values...>{}); }

 private:
  template <std::size_t... I>
  static void map(Warp& warp, const Instruction& i, Mask mask, std::index_sequence<I...>) {
    const std::tuple<LanesInPlace<Values>...> inputs{read_in_place<Values>(warp, i.slot[I + 1])...};
    if (i.slot[0] < 0) return;
    std::byte* const to = warp.registers + i.slot[0];
    // The destination is one of the sources, or overlaps none of them: see assign_slots().
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

/// The handler of an instruction whose destination is F of its sources, in order. Requires: F adds no product of floats, except by
/// std::fma.
template <auto F>
Handler elementwise() {
  return dispatch<Elementwise<F>::execute>();
}
/// As above for any F.
template <auto F>
Handler elementwise_without_fma() {
  return dispatch_without_fma<Elementwise<F>::execute>();
}

}  // namespace tilewright::rt::emulator
