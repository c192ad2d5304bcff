// Computes how far elements move from the nearest conversion.
#include "tileir/layout/movement.h"

#include <algorithm>

namespace tilewright::ir {

std::string_view text(Movement m) {
  constexpr std::string_view kTexts[] = {"no element moves",
                                         "elements change registers",
                                         "elements change registers, differently from thread to thread",
                                         "elements change lanes within their warps",
                                         "elements change warps",
                                         "elements change blocks"};
  return kTexts[static_cast<int>(m)];
}

Movement movement(const LinearLayout& source, const LinearLayout& destination) {
  const F2Matrix m = nearest_conversion(source, destination);
  Movement farthest = Movement::none;
  const auto at_least = [&](Movement least) { farthest = std::max(farthest, least); };
  std::size_t column = 0;
  for (int from = 0; from < kHardwareDims; ++from) {
    for (int i = 0; i < destination.bits(HardwareDim(from)); ++i, ++column) {
      int shift = 0;
      for (int to = 0; to < kHardwareDims; ++to) {
        const std::uint32_t part = m.columns[column] >> shift & (source.size(HardwareDim(to)) - 1);
        shift += source.bits(HardwareDim(to));
        if (part == (from == to ? 1u << i : 0)) continue;
        switch (HardwareDim(to)) {
          case HardwareDim::reg: at_least(HardwareDim(from) == HardwareDim::reg ? Movement::registers : Movement::intra_thread); break;
          case HardwareDim::lane: at_least(Movement::intra_warp); break;
          case HardwareDim::warp: at_least(Movement::intra_block); break;
          default: at_least(Movement::inter_block); break;
        }
      }
    }
  }
  // The destination has fewer registers: those left out held copies.
  if (farthest == Movement::none && source.bits(HardwareDim::reg) != destination.bits(HardwareDim::reg)) return Movement::registers;
  return farthest;
}

}  // namespace tilewright::ir
