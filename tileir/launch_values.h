// Values that the host can compute when it launches a kernel: those that tensor maps are made of.
#pragma once
#include <string>

#include "tileir/ir.h"

namespace tilewright::ir {

/// Why the host cannot compute a scalar at a launch; empty if it can. It can if the value is an i32, an i64 or a pointer, and is a parameter,
/// a constant or num_programs, or is computed from such values by cast, add, sub, mul, minimum, maximum, shl, shr, add_ptr, or by div and rem
/// with a divisor that is not 0: a constant, or the maximum of a number and a positive constant. Comparisons of such integers, and bit_and of
/// their results, may be cast to integers.
std::string why_not_at_launch(const Function&, ValueId);

}  // namespace tilewright::ir
