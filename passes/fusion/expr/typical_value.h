// The value of a symbol for which estimates and reports are made.
#pragma once
#include <cstdint>

#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// kTypicalExtent (plan.h), or the value within the bounds that is nearest to it; of multiples, from above.
std::int64_t typical_value(const DimBounds&);

}  // namespace tilewright::passes::fusion
