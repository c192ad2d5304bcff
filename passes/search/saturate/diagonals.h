// Sums that pick the diagonal of a value.
//
//   diagonal   sum(where(iota[i] == iota[j], x[i, j], 0) -> ) = sum(x[i, i] -> )
//
// A term has no label twice. So the right side has a term only where x is made of terms of which none has both labels: if x is product(a[i, k],
// b[k, j] -> i, j), x[i, i] is product(a[i, k], b[k, i] -> i). Elements that are not on the diagonal count on neither side, whether they are
// finite or not.
//
// The law depends on what the positions and the condition are, which an equation without labels cannot say. So it is not a rule: it is applied
// to the terms of a graph as written, before the rules are.
#pragma once
#include "passes/search/graph/graph_terms.h"
#include "passes/search/rules/saturation.h"

namespace tilewright::passes::search {

/// The sums that pick a diagonal, and what they are equal to, which is added to the terms.
std::vector<Saturation::Application> sums_of_diagonals(GraphTerms&);

}  // namespace tilewright::passes::search
