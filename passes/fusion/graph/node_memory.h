// Says which nodes have memory or kernels of their own, whatever is fused.
#pragma once
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Whether a node has kernels of its own, whatever is fused: its operands and results are in memory; operands of scatter_add may also be
/// computed element by element from memory.
bool has_own_kernels(graph::Op);

/// Whether a node's value is in memory that no kernel writes: an input, or a constant of several elements.
bool has_own_memory(const graph::Node&);

/// Whether a leaf is in memory or passed by a run: a tensor, a number that a run passes, or a constant of several elements.
bool is_in_memory(const graph::Node&);

}  // namespace tilewright::passes::fusion
