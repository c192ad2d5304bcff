// The value of a symbol that estimates and reports assume.
#pragma once
#include <cstdint>

#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// kTypicalExtent (plan.h), or the nearest value within the bounds; for multiples, rounded up.
std::int64_t typical_value(const DimBounds&);

}  // namespace tilewright::passes::fusion
