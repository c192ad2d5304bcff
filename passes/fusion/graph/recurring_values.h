// Finds functions of the data that many successive reductions read, such as the kernel matrix of Sinkhorn's method.
//
//   K = exp(-C)      u = a / (K v), v = b / (K' u), and again
//
// Reductions that depend on each other are separate kernels or passes. Each of them would compute K again, which takes longer than reading
// it, and the data from which K is computed must be read anyway.
#pragma once
#include <string>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The values to store, ascending. Such a value is computed element by element, with exponentials or similar functions, from tensors in
/// memory, one of which has the same number of elements; and more than kMostReaders reductions that depend on each other read it.
std::vector<graph::NodeId> recurring_values(const graph::Graph&, const std::vector<bool>& is_needed);

/// "not fused: exp (sinkhorn.cpp:12) is stored, because more than 3 reductions that wait for each other read it".
std::string recurring_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
