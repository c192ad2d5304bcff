// Which operand of a load, store or atomic is its mask.
#pragma once
#include <optional>

#include "tileir/ir.h"

namespace tilewright::ir {

/// The place that the op's kind has for a mask; none: it takes none, or is no access of memory.
std::optional<int> mask_index(OpKind);
/// The op's mask; none: it has none.
ValueId mask_of(const Function&, OpId);

}  // namespace tilewright::ir
