// How tiles go through shared memory: the order in which it holds the elements, and what the banks make of an access.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// How often the banks of shared memory are busy for one access of a warp: 32 banks of 4 bytes give a word each at a time; lanes that
/// want the same word share it. Accesses of 8 bytes a lane are served by half-warps, those of 16 by quarter-warps.
/// Columns of `offset`: log2_vector bits of the elements of a lane's vector, then the lane bits; results are offsets in elements.
/// Requires: element_bytes 1, 2, 4 or 8; at most 16 bytes a lane.
int shared_wavefronts(const F2Matrix& offset, int element_bytes, int log2_vector);
/// What an access of this width takes where no two lanes want different words of a bank.
int least_wavefronts(int element_bytes, int log2_vector, int log2_lanes = 5);

/// A way of a tile through shared memory, from one register layout to another.
struct SharedPlan {
  LinearLayout shared;                              // dimension offset only, in elements: a bijection
  int log2_store_vector = 0, log2_load_vector = 0;  // elements of one access of a thread
};

/// The plan of fewest wavefronts, then of fewest accesses, among those without bank conflicts: every access of a warp takes
/// least_wavefronts. Vectors are as wide, up to 16 bytes, as both sides allow; one side's are wider where that makes no conflicts.
/// Requires: equal extents, source surjective; a free register, lane or warp of the source stores nothing.
SharedPlan plan_swizzle(const LinearLayout& source, const LinearLayout& destination, int element_bytes);

/// The accesses by which a thread stores or loads all of its registers.
struct SharedAccesses {
  int log2_vector = 0;
  /// Lane, warp and block bits, side by side, to the offset of the thread.
  F2Matrix thread_offset;
  /// Of each access: XOR the thread's offset to it.
  std::vector<std::uint32_t> offsets;
  /// By register: number of its access times 2^log2_vector, plus its place in the vector. Registers that hold the same element share it.
  std::vector<std::uint32_t> places;

  /// What shared_wavefronts takes; lanes in `idle` (a mask of bits: those where one is 1 do nothing) are left out.
  F2Matrix warp_offset(int log2_lanes, std::uint32_t idle = 0) const;
};

/// Requires: `shared` a bijection, with vectors of 2^log2_vector elements in the registers as plan_swizzle makes them.
SharedAccesses shared_accesses(const LinearLayout& registers, const LinearLayout& shared, int log2_vector);

}  // namespace tilewright::ir
