// Draws layouts: which thread holds each element of a tile, and in which register.
#pragma once
#include <optional>
#include <span>
#include <string>

#include "tileir/layout/linear_layout.h"

namespace tilewright::ir {

/// A few lines: "f16[16, 64], 4 warps of 32 lanes, 8 registers a thread: ...", then bases, neighbours in a thread, and copies.
std::string describe(const LinearLayout&, Element);

/// One grid for each index of the outer axes; the last two axes go down and across. A cell is a run of neighbours in the registers of one
/// thread, "w0 l12 r0-3", or a run of offsets of shared memory. If an element has copies, the coordinate with free bits 0 is shown.
/// `colour`: cells have the colour of their warp, by terminal escapes.
std::string draw(const LinearLayout&, bool colour = false);

/// A layout with its title, for draw_svg.
struct Picture {
  std::string title;
  LinearLayout layout;
};
inline constexpr int kMaxLog2SvgElements = 14;
/// The grids of draw() as SVG, one below the other, coloured by warp, or by bank in shared memory. Requires: at most 2^kMaxLog2SvgElements
/// elements each.
std::string draw_svg(std::span<const Picture>, Element);

/// A layout conversion in words.
struct Conversion {
  std::string text;                    // registers, shuffles, or shared memory with its swizzle and wavefronts
  std::optional<LinearLayout> shared;  // if it goes through shared memory: the layout there
};
/// Requires: equal extents, lanes and warps, both surjective.
Conversion plan_conversion(const LinearLayout& source, const LinearLayout& destination, Element);

}  // namespace tilewright::ir
