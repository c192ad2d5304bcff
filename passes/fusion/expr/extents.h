// Extents for estimates and reports: symbols have typical values.
#pragma once
#include <cstdint>

#include "passes/fusion/expr/expr.h"
#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// The value that estimates assume for a symbol, unless its bounds exclude it.
inline constexpr double kTypicalExtent = 1024;
/// kTypicalExtent, or the nearest value within the bounds; for multiples, rounded up.
std::int64_t typical_value(const DimBounds&);
/// The estimated number of positions along an axis: its extent, or a typical size if it has symbols.
double estimated_extent(const Dim&);
double estimated_extent(const AxisSet&);

}  // namespace tilewright::passes::fusion
