// Divides a graph at values that are in memory whatever is fused, and finds equal parts between them.
//
// A value is stored if it is needed again when a product of it is complete, such as the sum to which each layer of a model adds: otherwise
// a kernel would compute everything before it twice. A value that is read at many shifted positions is stored for the same reason. Long
// chains of products are divided too, and segments that are still too large (segment_parts.h). The parts are derived one by one, equal
// layers once.
#pragma once
#include <cstddef>
#include <vector>

#include "passes/fusion/graph/segment.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

/// The segments of a graph's outputs, in an order in which each one's operands are computed before it. is_host: whether the kernels are for
/// a host.
std::vector<Segment> divide(const graph::Graph&, std::size_t most_operations = kMostOperations, bool is_host = false);

}  // namespace tilewright::passes::fusion
