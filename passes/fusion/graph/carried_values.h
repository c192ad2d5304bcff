// Finds values that the kernels of later segments would compute again, each one from more tensors than the one before.
//
//   v = v + f(u)   u = u + g(v[i - 1], v)   and again   u is stored in each step, as it is read at many positions (shifted_reads.h)
//
// No other rule stores v. The kernel of the n-th u would compute v from the n values of u before it, so that the work of all steps grows with
// the square of their number. So the segment that computes such a value stores it.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The values to store by the segments that compute them, ascending: later segments need them, and their formulas read more than
/// kMostTensorsReadAgain tensors in memory that are at least half as large, where each position of a window counts as one. `level` orders the
/// segments; `is_cut` tells what is stored anyway.
std::vector<graph::NodeId> carried_values(const graph::Graph&, const KnownNodes&, const std::vector<bool>& is_needed,
                                          const std::vector<bool>& is_cut, const std::vector<int>& level);

/// "not fused: add (wave.cpp:12) is stored, because later kernels would compute each element of it again from more than 4 others".
std::string carried_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
