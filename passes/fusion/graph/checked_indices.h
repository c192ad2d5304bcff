// Adds to a graph what checked mode tests: each index of gather, take_along and scatter_add is inside of the tensor.
//
//   rows = gather(t, i)      becomes      i' = the index as it is, by a kernel that fails where 0 <= i < the extent does not hold
//                                         rows = gather(t, i')
//
// The test belongs to the formula as it is written. In a kernel that is derived it would have no place: there a slice, a pad or a
// concatenation of what was gathered has become a condition, and an index may be evaluated where its value does not count, or not at all.
#pragma once
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

graph::Graph with_checked_indices(const graph::Graph&);

}  // namespace tilewright::passes::fusion
