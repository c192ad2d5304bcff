// Finds products that have a factor in common, and makes them parts of one product: x W1 and x W2 are parts of x [W1 | W2].
//
// Only factors that are known before a run are concatenated; others would be copied in each run. A merged product saves launches, and reads
// the common factor once. If that is little beside the products themselves, nothing is merged, because each proposed graph has to be
// estimated.
#pragma once
#include "passes/search/extract/node_cost.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

/// Adds terms. Returns pairs of terms that are equal: a product of a class, and the part of the merged product. Each group of products is
/// merged as a whole; the first products of a group are merged as well. Merged products are not merged again.
std::vector<Saturation::Application> merged_products(const graph::Graph& written, GraphTerms&, const EGraph&, const NodeCost&);

}  // namespace tilewright::passes::search
