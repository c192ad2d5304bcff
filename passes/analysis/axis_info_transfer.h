// The transfer functions of axis_info: the lattice element of an op's result from those of its operands.
#pragma once
#include <cstdint>
#include <span>

#include "passes/analysis/axis_info_lattice.h"

namespace tilewright::passes {

/// The lattice element about which nothing is known.
LatticeElement unknown(ir::Type);
/// A tile whose elements all have one value, with a known divisor and range.
LatticeElement uniform(ir::Type, std::int64_t divisibility, Range);
/// The knowledge about a value that may be either of the two: the meet of the lattice.
LatticeElement meet(const LatticeElement&, const LatticeElement&);
/// A number that divides every element (of pointers: every address in bytes).
std::int64_t divisibility_of_all(const LatticeElement&);
/// The lattice element of the result of an op with one result and no region; `operands`: one for each operand of the op.
LatticeElement transfer(const ir::Function&, ir::OpId, std::span<const LatticeElement* const> operands);

}  // namespace tilewright::passes
