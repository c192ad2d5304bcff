// Adds the tests of checked mode to a graph: each index of gather, take_along and scatter_add must be inside of the tensor.
//
//   rows = gather(t, i)      becomes      i' = i, copied by a kernel that fails unless 0 <= i < the extent
//                                         rows = gather(t, i')
//
// The index is tested in the formula as it is written, because a derived kernel cannot test it: there, a slice, a pad or a concatenation of
// gathered values has become a condition, and an index may be evaluated where its value does not matter, or not at all.
#pragma once
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

graph::Graph with_checked_indices(const graph::Graph&);

}  // namespace tilewright::passes::fusion
