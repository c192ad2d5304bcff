// Swizzles: layouts of tiles in shared memory without bank conflicts, and the wavefronts of an access.
#pragma once
#include <cstdint>
#include <vector>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// The wavefronts of one access of a warp: in each, each of the 32 banks delivers one word of 4 bytes, to all lanes that read that word.
/// Accesses of 8 bytes a lane are served by half-warps, those of 16 by quarter-warps. in_pairs: the access is a load that serves twice as
/// many lanes at once, which happens if lanes l and l ^ 1, or lanes l and l ^ 2, read the same for all l. Columns of `offset`: log2_vector
/// bits of the elements of a lane's vector, then the lane bits; results are offsets in elements. Requires: element_bytes 1, 2, 4 or 8; at
/// most 16 bytes a lane.
int shared_wavefronts(const F2Matrix& offset, int element_bytes, int log2_vector, bool in_pairs = false);
/// The number of wavefronts of an access of this width if it has no bank conflicts.
int least_wavefronts(int element_bytes, int log2_vector, int log2_lanes = 5);

/// A conversion between register layouts through shared memory.
struct SharedPlan {
  LinearLayout shared;                              // dimension offset only, in elements: a bijection
  int log2_store_vector = 0, log2_load_vector = 0;  // log2 of the elements of one access of a thread
};

/// The plan with the fewest wavefronts, then the fewest accesses, among those without bank conflicts: every access of a warp takes
/// least_wavefronts. Vectors are as wide as both sides allow, up to 16 bytes; one side's are wider where that causes no conflicts.
/// Requires: equal extents, source surjective; a coordinate of the source with a free bit set stores nothing.
SharedPlan plan_swizzle(const LinearLayout& source, const LinearLayout& destination, int element_bytes);

/// The accesses by which a thread stores or loads all of its registers.
struct SharedAccesses {
  int log2_vector = 0;
  /// Maps the lane, warp and block bits, side by side, to the thread's offset.
  F2Matrix thread_offset;
  /// The offset of each access; its address is offsets[i] ^ thread_offset(thread).
  std::vector<std::uint32_t> offsets;
  /// Indexed by register: the number of its access times 2^log2_vector, plus its index in the vector. Registers that hold the same element
  /// have the same position.
  std::vector<std::uint32_t> positions;

  /// The argument of shared_wavefronts. Lanes with a bit of the mask `idle` set make no access and are left out.
  F2Matrix warp_offset(int log2_lanes, std::uint32_t idle = 0) const;
};

/// Requires: `shared` a bijection, with vectors of 2^log2_vector elements in the registers as plan_swizzle makes them.
SharedAccesses shared_accesses(const LinearLayout& registers, const LinearLayout& shared, int log2_vector);

}  // namespace tilewright::ir
