// Finds pads that kernels of a host read through at little cost, so that they need no memory of their own.
//
// A product reads its left operand row by row where it lies, and a row that a pad adds is one row of zeros in memory. A reduction of windows
// walks the positions of a window one by one, and each has one mask for a row.
#pragma once
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// For each node: whether it is a pad of rows in memory that are read, also through windows and further pads, only by products as their left
/// operand, which must be padded with zeros, or by reductions.
std::vector<bool> pads_read_in_place(const graph::Graph&, const std::vector<bool>& is_needed);

}  // namespace tilewright::passes::fusion
