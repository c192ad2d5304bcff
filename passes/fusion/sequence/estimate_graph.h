// Estimates how long a graph takes, so that equal graphs can be compared.
#pragma once
#include <optional>

#include "passes/fusion/options.h"
#include "passes/fusion/sequence/graph_estimate.h"
#include "tileir/graph/graph.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Divides the graph into kernels as build_sequence does, and adds up their estimates: nothing is checked or emitted. Kernels that run when a
/// parameter is given, sums at positions that are data and kernels of the user are left out. None if a segment has no fused plan.
std::optional<GraphEstimate> estimate_graph(const graph::Graph&, const FusionOptions&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
