// Extents for estimates and reports: symbols have typical values.
#pragma once
#include <cstdint>

#include "passes/fusion/expr/expr.h"
#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// The value that estimates assume for a symbol, unless its bounds exclude it.
inline constexpr double kTypicalExtent = 1024;
/// The value by which estimates recognise work that grows faster than the data.
inline constexpr double kLargeExtent = 1 << 18;
/// `extent`, or the nearest value within the bounds; for multiples, rounded up.
std::int64_t typical_value(const DimBounds&, double extent = kTypicalExtent);
/// The estimated number of positions along an axis: its extent, with the value `of_symbols`, or the nearest within bounds, for each symbol.
double estimated_extent(const Dim&, double of_symbols = kTypicalExtent);
double estimated_extent(const AxisSet&);

}  // namespace tilewright::passes::fusion
