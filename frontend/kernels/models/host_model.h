// The model of programs on the cpu: the time of one program, as the sum of the costs of rows, steps and elements of its loops.
//
// Times are in nanoseconds, fitted to all candidates of 42 kernels and shapes on a core of an AMD EPYC (Zen 5, AVX-512), 2026-11-25. They
// only rank configurations. Other processors, none of which was measured, are assumed to differ by one factor.
#pragma once
#include <cstdint>

#include "frontend/kernels/models/machine.h"

namespace tilewright::kernels::host {

/// The programs of one launch. The last programs along the rows may have rows past the end.
struct Programs {
  double count = 1, nanoseconds = 0;
  double tails = 0, tail_nanoseconds = 0;  // how many programs have such rows, and the extra time of each
  double memory_bytes = 0;
  double launches = 1;
};

/// The seconds of the launch.
double host_seconds(const Machine&, const Programs&);

/// Constants of the model: sizes in bytes, costs in nanoseconds.
namespace host_costs {

inline constexpr double kLevel1Bytes = 32 << 10;  // first-level cache, which one tile may fill
inline constexpr double kLevel2Bytes = 4 << 20;   // the caches of one core and its neighbourhood
inline constexpr double kCacheBytes = 16 << 20;   // the last-level cache, as far as a launch can rely on it
inline constexpr double kRow = 4;                 // cost of a row of a tile: addresses, masks, and other scalar work
inline constexpr double kStep = 10;               // cost of a step of a program's loop
inline constexpr double kProgram = 100;           // cost of a program
inline constexpr double kLoad = 0.085;            // cost of loading an element of a tile for a product
inline constexpr double kMasked = 5;              // extra cost of an element if the tile has rows past the end: no vectors
inline constexpr double kMaskedInRow = 0.1;       // extra cost of an element if only the end of a row is masked
inline constexpr double kExponential = 0.165;

inline bool has_tail(std::int64_t extent, int size) { return extent % size != 0; }
/// The extra cost of an element if its tile is larger than the first-level cache.
double outside_level1(double bytes, double for_each_doubling);

}  // namespace host_costs

}  // namespace tilewright::kernels::host
