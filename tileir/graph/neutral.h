// The neutral elements of reductions: what they give of no element.
#pragma once
#include <cstdint>

#include "tileir/graph/graph.h"

namespace tilewright::graph {

/// The bits of the neutral element. argmax and argmin have none: of nothing they are 0. Requires: the kind is not `combine`, whose nodes
/// have an identity of their own.
std::uint64_t neutral_bits(Combine, ir::Element);
/// What a reduction node gives of no element, in its element type.
std::uint64_t bits_of_nothing(const Node&);

/// Whether a tensor of this shape has no element, whatever its symbols are.
bool is_empty(const TensorShape&);
/// Whether a node with elements has an operand without any: a reduction or a product of nothing, or a pad, a concatenation or a
/// scatter_add to which the operand adds nothing.
bool has_empty_operand(const Graph&, const Node&);

}  // namespace tilewright::graph
