// Finds functions of the data that one reduction after the other reads: the kernel matrix of Sinkhorn's method.
//
//   K = exp(-C)      u = a / (K v), v = b / (K' u), and again
//
// Reductions that wait for each other are kernels, or passes, of their own. Each of them would compute K again, which takes longer than to
// read it, and the data of K have to be read anyway.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The values to store, ascending: they are computed element by element, with exponentials or the like, from tensors in memory of which one
/// has as many elements, and more than three reductions that wait for each other read them.
std::vector<graph::NodeId> recurring_values(const graph::Graph&, const std::vector<bool>& is_needed);

/// "not fused: exp (sinkhorn.cpp:12) is stored, because more than 3 reductions that wait for each other read it".
std::string recurring_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
