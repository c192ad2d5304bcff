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

/// The values to store, ascending. Such a value is computed element by element from reductions that are no matrix products, of which each
/// combines at least kLeastCombined elements of one tensor; and at least two reductions or indices read it along an axis along which these vary,
/// one of them in so many programs that each would compute it anew. Of the values
/// that the same reductions read, it is the last one; if several values contain one reduction, that is stored.
std::vector<graph::NodeId> walked_sums(const graph::Graph&, const ProductReuse&, const std::vector<bool>& is_needed,
                                       const std::vector<bool>& is_stored);

/// "not fused: add (pagerank.cpp:12) is stored, because several reductions would each compute the sums in it again".
std::string walked_text(const graph::Graph&, graph::NodeId);

}  // namespace tilewright::passes::fusion
