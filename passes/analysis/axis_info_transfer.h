// The transfer functions of axis_info: the lattice element of an op's result from those of its operands.
#pragma once
#include <span>

#include "passes/analysis/axis_info.h"
#include "passes/analysis/value_range.h"

namespace tilewright::passes {

/// What the analysis knows of one value.
struct LatticeElement {
  ir::Type type;
  AxisInfo info;
  Range range;
};

bool operator==(const AxisInfo&, const AxisInfo&);
inline bool operator==(const LatticeElement& a, const LatticeElement& b) {
  return a.type == b.type && a.info == b.info && a.range == b.range;
}

/// Nothing known.
LatticeElement unknown(ir::Type);
/// Every element is the same value, of which a divisor and a range are known.
LatticeElement uniform(ir::Type, std::int64_t divisibility, Range);
/// What is known if the value may be either: the meet of the lattice.
LatticeElement meet(const LatticeElement&, const LatticeElement&);
/// What divides every element (pointers: every address in bytes).
std::int64_t divisibility_of_all(const LatticeElement&);
/// The result of an op of one result and no region; `operands` as many as the op has.
LatticeElement transfer(const ir::Function&, ir::OpId, std::span<const LatticeElement* const> operands);

}  // namespace tilewright::passes
