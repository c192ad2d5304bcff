// Translates a graph to labelled terms.
//
//   permute, reshape, broadcast     other labels of the same term; extents of 1 have no label
//   add, sub, neg, mul, fma         add and product; a - b is a + -1 * b
//   div of floats                   the product with the reciprocal
//   sum, einsum                     sum and product, one operand after the other
//   slice                           the parts of one or two cuts; with steps a view, as are flip, rotate and pads with zeros
//   sum over elements of windows    a view of the axis that the windows are along
//   concat, other pads              cats of two pieces, from the left
//   other maps and reductions       function and reduce, of which no law knows more
//   window, scan, gather, ...       leaves, whose operands are values of their own
//
// If a piece of a cat, or the operand of a reduction, is broadcast along the axis, it is multiplied by ones. An extent of 1 that remains
// after a slice is summed. If the accumulator sums operands of narrow types, these are cast to its type first.
#pragma once
#include "passes/search/graph/graph_terms.h"

namespace tilewright::passes::search {

GraphTerms graph_to_terms(const graph::Graph&);

}  // namespace tilewright::passes::search
