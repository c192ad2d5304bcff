// How far the elements of a tile go when its layout changes.
#pragma once
#include <string_view>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// From cheap to dear. Where the source holds copies, the nearest counts.
enum class Movement : std::uint8_t {
  none,          // every register has its element
  registers,     // every thread has its elements, in other registers, the same ones in all threads
  intra_thread,  // every thread has its elements; which registers they are in differs from thread to thread
  intra_warp,    // between lanes: shuffles
  intra_block,   // between warps: shared memory
  inter_block
};
std::string_view text(Movement);

/// Requires: equal extents, source surjective.
Movement movement(const LinearLayout& source, const LinearLayout& destination);

}  // namespace tilewright::ir
