// Finds products that have a factor in common, and makes them parts of one product: x W1 and x W2 are parts of x [W1 | W2].
//
// Only what is known before a run is concatenated; anything else would be copied in each run. A merged product saves launches, and reads the
// common factor once. Where that is little beside the products themselves, nothing is merged, since each graph that is proposed is estimated.
#pragma once
#include "passes/search/extract/node_cost.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

/// Adds terms. What is returned has the products of the classes and the parts that they are equal to. A group of products is merged as a whole,
/// and so are its first ones; what is made is not merged again.
std::vector<Saturation::Application> merged_products(const graph::Graph& written, GraphTerms&, const EGraph&, const NodeCost&);

}  // namespace tilewright::passes::search
