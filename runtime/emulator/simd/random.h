// Pseudo-random numbers for schedules.
#pragma once
#include "runtime/emulator/simd/scalar_types.h"

namespace tilewright::rt::emulator {

/// splitmix64: similar seeds give unrelated sequences.
inline u64 next_random(u64& state) {
  state += 0x9e3779b97f4a7c15u;
  u64 bits = state;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace tilewright::rt::emulator
