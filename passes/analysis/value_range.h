// Value ranges: bounds of every element of an integer value. axis_info computes them and uses them to prove that values are not negative
// and do not wrap.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Holds any 64-bit integer, signed or unsigned.
__extension__ typedef __int128 Wide;

/// lo <= every element <= hi, where elements are read as their type says. Floats and pointers have no range (the interval [0, 0]).
struct Range {
  Wide lo = 0, hi = 0;
  friend bool operator==(const Range&, const Range&) = default;

  bool is_nonnegative() const { return lo >= 0; }
  bool contains(const Range& o) const { return lo <= o.lo && o.hi <= hi; }
};

/// All values of the type.
Range full_range(ir::Type);
/// The range if the type holds all of it; otherwise the full range, since results may have wrapped.
Range clipped(ir::Type, Range);
Range united(const Range&, const Range&);
/// The range of an integer or bool op with one result. `operands`: the ranges of its operands; `types`: their types.
Range range_of(const ir::Function&, ir::OpId, std::span<const Range> operands, std::span<const ir::Type> types);

}  // namespace tilewright::passes
