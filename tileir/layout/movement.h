// Says how far the elements of a tile move in a layout conversion.
#pragma once
#include <string_view>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// The values are in ascending order of cost. If the source holds copies of an element, the nearest one counts.
enum class Movement : std::uint8_t {
  none,          // every register already holds its element
  registers,     // every thread holds its elements, in other registers, by a permutation that is the same in all threads
  intra_thread,  // every thread holds its elements, in registers that differ between threads
  intra_warp,    // between lanes: shuffles
  intra_block,   // between warps: shared memory
  inter_block
};
std::string_view text(Movement);

/// Requires: equal extents, source surjective.
Movement movement(const LinearLayout& source, const LinearLayout& destination);

}  // namespace tilewright::ir
