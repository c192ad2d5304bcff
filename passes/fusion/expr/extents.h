// Extents for estimates and reports: symbols have typical values.
#pragma once
#include <cstdint>
#include <vector>

#include "passes/fusion/expr/expr.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph.h"
#include "tilewright/dim.h"

namespace tilewright::passes::fusion {

/// `extent`, or the nearest value within the bounds; for multiples, rounded up.
std::int64_t typical_value(const DimBounds&, double extent = kTypicalExtent);
/// Typical values of the symbols of a graph for which every extent is an integer: (n - 1) / 2 is none for an even n. If no values near to
/// the typical ones are found, some extents are not integers.
std::vector<std::int64_t> typical_values(const graph::Graph&);
/// The estimated number of positions along an axis: its extent, with the value `of_symbols`, or the nearest within bounds, for each symbol.
double estimated_extent(const Dim&, double of_symbols = kTypicalExtent);
double estimated_extent(const AxisSet&);
/// The estimated number of elements of a tensor.
double estimated_elements(const graph::TensorShape&);

}  // namespace tilewright::passes::fusion
