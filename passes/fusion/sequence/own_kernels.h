// Nodes that have kernels of their own, whatever is fused: sums at places that are data, and kernels of the user.
#pragma once
#include <set>

#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// Adds the kernels of a node (has_own_kernels) that reads these values from memory. All results of a call are written at once.
void derive_own_kernels(SequenceContext&, graph::NodeId, std::set<graph::NodeId> memory);

}  // namespace tilewright::passes::fusion
