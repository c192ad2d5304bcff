// Finds sums of many elements each that several reductions walk, as in the steps of PageRank.
//
//   r' = A r / d + s(r)      s(r): the sum of all ranks of nodes without links
//
// Both A r and s need the ranks of the step before at all positions. The kernel of each reduction would compute them again, and so walk the
// matrix for each of them; to read a vector takes a small part of that time.
#pragma once
#include <string>
#include <vector>

#include "passes/fusion/segments/product_reuse.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// The values to store, ascending. Such a value is computed element by element from reductions that are not matrix products, and each of these
/// combines at least kLeastCombined elements of one tensor. At least two reductions or indices read the value along an axis along which it
/// varies; and one of them has a result of many programs, each of which would compute the value again. If the same reductions read several such
/// values, the last one is stored. If several values to be stored contain one reduction, that reduction is stored in place of them.
std::vector<graph::NodeId> walked_sums(const graph::Graph&, const ProductReuse&, const std::vector<bool>& is_needed,
                                       const std::vector<bool>& is_stored);

/// "not fused: add (pagerank.cpp:12) is stored, because several reductions would each compute the sums in it again".
std::string walked_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
