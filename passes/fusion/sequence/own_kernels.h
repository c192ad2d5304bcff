// Nodes that are never fused with others and have kernels of their own: scatter_add, whose positions are data, and kernels of the user.
#pragma once
#include <set>

#include "passes/fusion/sequence/sequence_context.h"

namespace tilewright::passes::fusion {

/// Adds the kernels of such a node, which read the values in `memory`. The kernel of a user's call writes all results of the call.
void derive_own_kernels(SequenceContext&, graph::NodeId, std::set<graph::NodeId> memory);

}  // namespace tilewright::passes::fusion
