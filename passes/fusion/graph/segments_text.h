// Segments as text for tests.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/graph/segments.h"

namespace tilewright::passes::fusion {

/// A line for each segment: what it stores, what it reads and how many operations it has; below it, why its results are stored, and which
/// earlier segment has the same structure and so the same kernels.
std::string segments_text(const graph::Graph&, const std::vector<Segment>&);

}  // namespace tilewright::passes::fusion
