// Concatenations that are written in place: the kernel that computes a piece stores it there, and no kernel concatenates.
//
//   y = concat(a U, b V)     one kernel writes the columns of y from 0 on, another one those behind
//
// As one formula, a concatenation is a choice between its pieces at each element, and a kernel computes all of them for each tile. That is
// cheap for pieces that are read or computed element by element, and not for products.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "passes/fusion/graph/known_nodes.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

struct ConcatPiece {
  graph::NodeId value;
  std::vector<Dim> begin;  // its first position in the whole, along each axis
};

/// Whether an earlier kernel has stored a node's value.
using IsStored = std::function<bool(graph::NodeId)>;

/// The pieces of a concatenation that have elements, if one of them is computed by a reduction, a product or a scan; none otherwise, and for
/// other nodes. A concatenation among the pieces is replaced by its own pieces.
std::vector<ConcatPiece> pieces_of(const graph::Graph&, graph::NodeId whole, const IsStored&);

/// The concatenations that are stored and written in place, without those that are pieces of others: outputs with pieces; and values inside of
/// formulas, if most of their elements are reductions and products that no other piece needs and that would be stored anyway. What a
/// reduction combines along the concatenated axis, such as the scores of attention, is not stored: it is reduced piece by piece.
std::vector<graph::NodeId> concatenations_in_place(const graph::Graph&, const KnownNodes&, const std::vector<bool>& is_needed,
                                                   const std::vector<bool>& is_stored);

/// Whether nothing else needs a value, nor the reductions and products inside of it: a segment of its own computes nothing again. uses: the
/// number of times that each node is an operand or an output. is_computed: whether more than element-wise ops compute it.
bool is_needed_once(const graph::Graph&, graph::NodeId, const std::vector<std::size_t>& uses, const std::vector<bool>& is_computed);

}  // namespace tilewright::passes::fusion
