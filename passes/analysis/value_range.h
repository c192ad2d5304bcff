// Value ranges: bounds of every element of an integer value. axis_info computes them, and uses them to prove that values are not negative
// and do not wrap.
#pragma once
#include "passes/ir_names.h"

namespace tilewright::passes {

/// Wide enough for any 64-bit integer, signed or not.
__extension__ typedef __int128 Wide;

/// lo <= every element <= hi, the elements read as their type says. Floats and pointers have none (an interval of nothing but 0).
struct Range {
  Wide lo = 0, hi = 0;
  friend bool operator==(const Range&, const Range&) = default;

  bool is_nonnegative() const { return lo >= 0; }
  bool contains(const Range& o) const { return lo <= o.lo && o.hi <= hi; }
};

/// All values of the type.
Range full_range(ir::Type);
/// The range if the type holds all of it; else the full range, since results may have wrapped.
Range clipped(ir::Type, Range);
Range united(const Range&, const Range&);
/// The range of an integer or bool op of one result. `operands`: ranges of the operands, as many as the op has; `types`: their types.
Range range_of(const ir::Function&, ir::OpId, std::span<const Range> operands, std::span<const ir::Type> types);

}  // namespace tilewright::passes
