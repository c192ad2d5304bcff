// What one op makes of what is known of its operands: the transfer functions of axis_info.
#pragma once
#include <span>

#include "passes/analysis/axis_info.h"
#include "passes/analysis/value_range.h"

namespace tilewright::passes {

/// All that the analysis tracks of one value.
struct Fact {
  ir::Type type;
  AxisInfo info;
  Range range;
};

bool operator==(const AxisInfo&, const AxisInfo&);
inline bool operator==(const Fact& a, const Fact& b) { return a.type == b.type && a.info == b.info && a.range == b.range; }

/// Nothing known.
Fact unknown(ir::Type);
/// Every element is one value, of which only a divisor is known.
Fact uniform(ir::Type, std::int64_t divisibility, Range);
/// What holds of both.
Fact meet(const Fact&, const Fact&);
/// What divides every element (pointers: every address in bytes).
std::int64_t divisibility_of_all(const Fact&);
/// The result of an op of one result and no region; `operands` as many as the op has.
Fact transfer(const ir::Function&, ir::OpId, std::span<const Fact* const> operands);

}  // namespace tilewright::passes
