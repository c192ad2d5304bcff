// Translates shape ops: the result is the operand at another position.
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/translate/graph_to_exprs.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using ir::Element;

}  // namespace

Expr GraphToExprs::translate_reshape(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const TensorAtoms own = axes_.atoms(n);
  if (axes_.is_detached({n, 0})) {
    // The row-major position, divided into indices by the operand's extents.
    const NodeId x = node.operands[0];
    const graph::TensorShape& shape = g_.node(x).shape;
    const TensorAtoms atoms = axes_.atoms(x);
    Expr rest = row_major_position(b_, position, own, node.shape);
    Position there(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const Expr extent = b_.extent(shape[axis]);
      const bool is_outermost = axis == 0;
      there[axis] =
          position_in_atoms(b_, {{is_outermost ? rest : b_.function(ir::OpKind::rem_, {rest, extent}, Element::i64)}, true}, atoms[axis]);
      if (!is_outermost) rest = b_.function(ir::OpKind::div_, {rest, extent}, Element::i64);
    }
    return at(x, there);
  }
  std::vector<Expr> all;
  for (std::size_t axis = 0; axis < position.size(); ++axis)
    for (Expr e : position_in_atoms(b_, position[axis], own[axis]).parts) all.push_back(e);
  Position there;
  auto next = all.begin();
  for (const AtomList& axis : axes_.operand_atoms(n, 0)) {
    AxisPosition p;
    for (std::size_t i = 0; i < axis.size(); ++i) p.parts.push_back(*next++);
    there.push_back(std::move(p));
  }
  return operand(n, 0, there);
}

// The element at another position along the node's axis.
Expr GraphToExprs::moved_along(NodeId n, const Position& position, Expr along) {
  const int axis = g_.node(n).axes[0];
  Position there = position;
  there[axis] = position_in_atoms(b_, {{along}, true}, axes_.operand_atoms(n, 0)[axis]);
  return operand(n, 0, there);
}

Expr GraphToExprs::translate_slice(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const Expr i = whole_position(b_, position[node.axes[0]], axes_.atoms(n)[node.axes[0]]);
  return moved_along(n, position, b_.add({b_.extent(node.lengths[0]), b_.product({b_.extent(node.lengths[2]), i})}));
}

Expr GraphToExprs::translate_flip(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const Expr i = whole_position(b_, position[node.axes[0]], axes_.atoms(n)[node.axes[0]]);
  return moved_along(n, position, b_.subtract(b_.extent(node.shape[node.axes[0]] - Dim(1)), i));
}

// Position i of the result is i - offset of the operand, or i - offset + n where that is negative, with an offset from 0 to n. A remainder
// would be shorter to write, but a division for each element.
Expr GraphToExprs::translate_rotate(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const Dim& extent = node.shape[node.axes[0]];
  const Expr from = before_rotation(whole_position(b_, position[node.axes[0]], axes_.atoms(n)[node.axes[0]]), node.lengths[0], extent);
  const Expr is_inside = b_.at_least_zero(from);
  const bool is_still = holds(is_inside) == true;
  return moved_along(n, position, is_still ? from : b_.select(is_inside, from, b_.add({from, b_.extent(extent)}), Element::i64));
}

// i - offset modulo n, from -n to n - 1.
Expr GraphToExprs::before_rotation(Expr i, const Dim& offset, const Dim& n) {
  if (offset.is_constant() && n.is_constant()) return b_.subtract(i, b_.number((offset.value() % n.value() + n.value()) % n.value()));
  if (offset.least() >= 0 && (n - offset).least() >= 0) return b_.subtract(i, b_.extent(offset));
  const Dim back = 0 - offset;
  if (back.least() >= 0 && (n - back).least() >= 0) return b_.subtract(b_.add({i, b_.extent(back)}), b_.extent(n));
  // An axis without elements has no position, but a kernel may compute what is common to all positions.
  const Expr divisor = b_.select(b_.is_positive(n), b_.extent(n), b_.one(), Element::i64);
  const auto remainder = [&](Expr x) { return b_.function(ir::OpKind::rem_, {x, divisor}, Element::i64); };
  return b_.subtract(i, remainder(b_.add({remainder(b_.extent(offset)), divisor})));
}

Expr GraphToExprs::translate_materialize(NodeId n, const Position& position) { return operand(n, 0, position); }

Expr GraphToExprs::translate_window(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const TensorAtoms own = axes_.atoms(n);
  const Expr i = whole_position(b_, position[node.axes[0]], own[node.axes[0]]), j = whole_position(b_, position.back(), own.back());
  const Expr along = b_.add({b_.product({b_.extent(node.lengths[1]), i}), b_.product({b_.extent(node.lengths[2]), j})});
  return moved_along(n, Position(position.begin(), position.end() - 1), along);
}

Expr GraphToExprs::translate_pad(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  if (graph::has_empty_operand(g_, node)) return operand(n, 1, {});
  const int axis = node.axes[0];
  const TensorAtoms own = axes_.atoms(n), theirs = axes_.operand_atoms(n, 0);
  const Expr i = b_.subtract(whole_position(b_, position[axis], own[axis]), b_.extent(node.lengths[0]));
  const Dim inner = node.shape[axis] - node.lengths[0] - node.lengths[1];
  const Expr inside = b_.conjunction({b_.at_least_zero(i), b_.at_least_zero(b_.subtract(b_.extent(inner - Dim(1)), i))});
  Position there = position;
  there[axis] = position_in_atoms(b_, {{i}, true}, theirs[axis]);
  return b_.select(inside, operand(n, 0, there), operand(n, 1, {}), node.element);
}

// A binary tree of conditions: with many operands, a few tests find the operand of a position.
Expr GraphToExprs::translate_concat(NodeId n, const Position& position) {
  const Node& node = g_.node(n);
  const int axis = node.axes[0];
  const Expr i = whole_position(b_, position[axis], axes_.atoms(n)[axis]);
  const std::vector<JoinedPiece> pieces = joined_pieces(node);
  const auto value = [&](const JoinedPiece& piece) {
    Position there = position;
    there[axis] = position_in_atoms(b_, {{b_.subtract(i, b_.extent(piece.begin))}, true}, axes_.operand_atoms(n, piece.operand)[axis]);
    return operand(n, piece.operand, there);
  };
  if (const JoinedPiece* piece = piece_of(i, pieces)) return value(*piece);
  const std::function<Expr(std::size_t, std::size_t)> choose = [&](std::size_t first, std::size_t last) {
    if (last - first == 1) return value(pieces[first]);
    const std::size_t middle = first + (last - first) / 2;
    const Expr is_before = b_.at_least_zero(b_.subtract(b_.extent(pieces[middle].begin - Dim(1)), i));
    return b_.select(is_before, choose(first, middle), choose(middle, last), node.element);
  };
  return choose(0, pieces.size());
}

// The operands that have elements, in order.
std::vector<GraphToExprs::JoinedPiece> GraphToExprs::joined_pieces(const Node& node) const {
  std::vector<JoinedPiece> pieces;
  Dim begin = 0;
  for (std::size_t k = 0; k < node.operands.size(); ++k) {
    const Dim extent = g_.node(node.operands[k]).shape[static_cast<std::size_t>(node.axes[0])];
    if (extent == Dim(0)) continue;
    pieces.push_back({k, begin, begin + extent});
    begin = pieces.back().end;
  }
  return pieces;
}

// The operand that certainly contains a position: the position is along that operand's own axis, or in an interval inside of it; null if
// none.
const GraphToExprs::JoinedPiece* GraphToExprs::piece_of(Expr position, const std::vector<JoinedPiece>& pieces) {
  const Range range = integer_range(position);
  for (const JoinedPiece& p : pieces) {
    const bool is_constant = p.begin.is_constant() && p.end.is_constant();
    if (is_constant && range.least >= p.begin.value() && range.greatest < p.end.value()) return &p;
    if (is_constant) continue;
    const Dim extent = p.end - p.begin;
    const Expr inner = b_.subtract(position, b_.extent(p.begin));
    const Range inside = integer_range(inner);
    if ((inner->is(ExprKind::index) && inner->axis->extent == extent) ||
        (inside.least >= 0 && extent.is_constant() && inside.greatest < extent.value()))
      return &p;
  }
  return nullptr;
}

}  // namespace tilewright::passes::fusion
