// Coordinates inside of a box that are affine in the position, and where a box must be split so that they are.
//
// A box has an interval of positions along each axis of a tensor; t0, t1, ... count positions from its corner. Slices, pads, windows, flips
// and merged axes map affine coordinates to affine coordinates. Two things do not: a condition on a coordinate, and the division of a
// coordinate by the extent of an inner axis. Both are affine in a part of the box:
//
//   h * 14 + w - 1 >= 0        h in [0, 14), w in [0, 14)     at h = 1; and the first row at w = 1
//   (h * 14 + w + 1) / 14      h in [0, 14), w in [0, 13)     h, and the remainder w + 1
//   (h * 14 + w + 1) / 14      h in [0, 14), w in [0, 14)     at w = 13
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "tileir/graph/shapes.h"

namespace tilewright::passes::search {

/// The positions begin, begin + 1, ... below end.
struct Interval {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};
using Box = std::vector<Interval>;

/// base + steps[0] * t0 + steps[1] * t1 + ...
struct AffineForm {
  std::int64_t base = 0;
  std::array<std::int64_t, graph::kMaxRank> steps{};

  AffineForm& operator+=(const AffineForm&);
  /// The form times `factor`, plus `offset`.
  AffineForm mapped(std::int64_t factor, std::int64_t offset) const;
};

/// Cuts a box into the positions before `at` along an axis and the others.
struct BoxSplit {
  std::size_t axis = 0;
  std::int64_t at = 0;
};

/// The least and the greatest value in a box.
struct ValueRange {
  std::int64_t least = 0, greatest = 0;
};
ValueRange range_of(const AffineForm&, const Box&);

/// Whether form >= bound, if that is the same at all positions of the box, or else where to split the box. One part of the split is decided
/// wherever one axis can decide.
std::variant<bool, BoxSplit> is_at_least(const AffineForm&, std::int64_t bound, const Box&);

struct Quotient {
  AffineForm quotient, remainder;  // the remainder is in [0, divisor)
};
/// Divides by a positive number, or says where to split the box so that the quotient is affine.
std::variant<Quotient, BoxSplit> divide(const AffineForm&, std::int64_t divisor, const Box&);

}  // namespace tilewright::passes::search
