// Makes a whole graph of regions again.
#pragma once
#include <span>

#include "passes/search/regions/region.h"

namespace tilewright::passes::search {

/// The graph as it was written, in which some regions are computed by other graphs, of the same inputs and outputs as Region::graph.
/// `replacements`: for each region the graph, or null where it stays as it is.
graph::Graph join(const graph::Graph& written, std::span<const Region> regions, std::span<const graph::Graph* const> replacements);

}  // namespace tilewright::passes::search
