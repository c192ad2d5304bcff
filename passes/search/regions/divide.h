// Divides a graph into the regions that are searched, each by itself: no work moves from one to another.
//
// A graph with few nodes is one region. A larger one is divided, in the order of its nodes, where one value is all that is needed of what
// was computed before:
//
//   1. find_cuts: at sums and functions that are read again, such as the sum to which the layers of a model add, so that equal layers are
//      equal regions. If there are none, at functions, because no rule goes through a function. Else at one other such value in the middle.
//   2. halve: if there is no such value, in the middle, where the fewest values are in use.
//   3. add_regions: a value that is made of inputs by a few ops element by element (a mask, positions) is in a region of its own if several
//      other regions read it, so that the first of equal layers is a region like the others.
//
// Such values, those that are known before a run, and those of the parts before do not count as in use. Kernels of the user stand between
// regions.
#pragma once
#include "passes/search/regions/region.h"
#include "passes/search/thresholds.h"

namespace tilewright::passes::search {

/// The regions of what the outputs need, in order.
std::vector<Region> divide(const graph::Graph&, std::size_t most_nodes = kMostRegionNodes);

}  // namespace tilewright::passes::search
