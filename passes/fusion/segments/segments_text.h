// Segments as text, for reports and tests.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/segments/segments.h"

namespace tilewright::passes::fusion {

/// A line for each segment: what it stores, what it reads and how many operations it has; below it, why its results are stored, and which
/// earlier segment has the same structure and so the same kernels.
std::string segments_text(const graph::Graph&, const std::vector<Segment>&);

/// "not fused: exp (sinkhorn.cpp:12) is stored, because more than 3 reductions that wait for each other read it", for each result that only
/// later segments need.
std::vector<std::string> stored_texts(const graph::Graph&, const Segment&);

}  // namespace tilewright::passes::fusion
