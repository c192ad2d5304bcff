// Pictures of layouts: which thread holds each element of a tile, and in which register.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// "f16[16, 64], 4 warps of 32 lanes, 8 registers a thread: ..." in a few lines: the bases, neighbours in a thread, copies.
std::string describe(const LinearLayout&, Element);

/// A grid of the tile, the last two axes down and across, the axes before them one grid after the other. A cell is a run of neighbours in
/// the registers of one thread, "w0 l12 r0-3", or a run of offsets of shared memory. An element that is held several times is shown where
/// free bits are 0. `colour`: cells in the colour of their warp, by terminal escapes.
std::string draw(const LinearLayout&, bool colour = false);

/// The same as SVG, one below the other, in colours by warp, or of shared memory by bank.
struct Picture {
  std::string title;
  LinearLayout layout;
};
inline constexpr int kMaxLog2SvgElements = 14;
/// Requires: at most 2^kMaxLog2SvgElements elements each.
std::string draw_svg(std::span<const Picture>, Element);

/// How a tile goes from one layout to another.
struct Conversion {
  std::string text;                    // registers, shuffles, or shared memory with its swizzle and what the banks make of it
  std::optional<LinearLayout> shared;  // where it goes through shared memory
};
/// Requires: equal extents, lanes and warps, both surjective.
Conversion plan_conversion(const LinearLayout& source, const LinearLayout& destination, Element);

}  // namespace tilewright::ir
