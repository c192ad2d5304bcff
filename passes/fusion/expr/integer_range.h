// Intervals of integer expressions, and what they decide: whether arithmetic can wrap, and which tiles a mask leaves empty.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "passes/fusion/expr/expr.h"

namespace tilewright::passes::fusion {

/// From least to greatest, both included; saturated at the limits.
struct Range {
  std::int64_t least, greatest;
  static Range everything() { return {INT64_MIN, INT64_MAX}; }
};

/// The positions of some axes; an axis that is not listed may have any position.
using AxisRanges = std::unordered_map<Axis, Range>;

/// Kernels compute positions in 32 bits along an axis whose greatest extent is unknown; a run refuses greater extents. With a declared
/// greatest extent (DimBounds::max) they compute in as many bits as it needs.
inline constexpr std::int64_t kMostUnboundedExtent = INT32_MAX;

/// The values of an integer expression. Extents without a known bound are assumed to be at most kMostUnboundedExtent, which runs check.
Range integer_range(Expr, const AxisRanges& = {});
/// Whether the type contains every value of the interval.
bool fits(const Range&, ir::Element);
/// Whether every value of an integer expression is a position along an axis of this extent.
bool stays_inside(Expr, const Dim& extent);
/// Whether a condition holds at every point of these positions (true), at none (false), or this is unknown (none).
std::optional<bool> holds(Expr condition, const AxisRanges& = {});

}  // namespace tilewright::passes::fusion
