// The neutral elements of reductions: their results for tensors without elements.
#pragma once
#include <cstdint>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// The bits of the neutral element. argmax and argmin have none and give 0 for no elements. Requires: the kind is not `combine`, whose
/// nodes have an identity of their own.
std::uint64_t neutral_bits(Combine, ir::Element);
/// The result of a reduction node over no elements, in its element type.
std::uint64_t bits_of_nothing(const Node&);

/// Whether a tensor of this shape has no elements, whatever values its symbols have.
bool is_empty(const TensorShape&);
/// Whether a node with elements has an operand without any: a reduction or a product over no elements, or a pad, a concatenation or a
/// scatter_add to which the operand contributes nothing.
bool has_empty_operand(const Graph&, const Node&);

}  // namespace tilewright::graph
