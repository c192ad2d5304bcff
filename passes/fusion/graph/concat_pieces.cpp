// Looks at the reductions from which pieces are computed, and at the ops that read concatenations.
#include "passes/fusion/graph/concat_pieces.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

// The reductions, products and scans from which a value is computed element by element. Values that take many steps have none.
std::set<NodeId> reductions_in(const Graph& g, NodeId value, const IsStored& is_stored) {
  std::set<NodeId> found, seen;
  std::vector<NodeId> todo{value};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (is_stored(n) || !seen.insert(n).second) continue;
    if (seen.size() > kMostStepsOfPiece) return {};
    if (graph::combines_elements(g.node(n).op))
      found.insert(n);
    else
      todo.insert(todo.end(), g.node(n).operands.begin(), g.node(n).operands.end());
  }
  return found;
}

void add_pieces(const Graph& g, NodeId whole, std::vector<Dim> begin, const IsStored& is_stored, std::vector<ConcatPiece>& pieces) {
  const Node& n = g.node(whole);
  const auto axis = static_cast<std::size_t>(n.axes[0]);
  for (NodeId x : n.operands) {
    const bool is_concat = g.node(x).op == Op::concat && !is_stored(x) && !reductions_in(g, x, is_stored).empty();
    if (is_concat)
      add_pieces(g, x, begin, is_stored, pieces);
    else if (!graph::is_empty(g.node(x).shape))
      pieces.push_back({x, begin});
    begin[axis] = begin[axis] + g.node(x).shape[axis];
  }
}

class ConcatenationsInPlace {
 public:
  ConcatenationsInPlace(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed, const std::vector<bool>& is_stored)
      : g_(g), known_(known), is_needed_(is_needed), is_stored_(is_stored), readers_(g.size()), is_output_(g.size()) {
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (is_needed[i])
        for (NodeId x : g.node({i}).operands) readers_[x.index].push_back({i});
    for (const graph::Output& o : g.outputs()) is_output_[o.node.index] = true;
  }

  // From the outputs down: what a concatenation in place has as a piece is written with it.
  std::vector<NodeId> run() {
    std::vector<NodeId> found;
    std::vector<bool> is_in_place(g_.size());
    for (std::uint32_t i = static_cast<std::uint32_t>(g_.size()); i-- > 0;) {
      const Node& n = g_.node({i});
      if (n.op != Op::concat || !is_needed_[i] || is_stored_[i] || known_.is_known({i})) continue;
      const bool is_piece = !readers_[i].empty() && std::all_of(readers_[i].begin(), readers_[i].end(), [&](NodeId reader) {
        return is_in_place[reader.index] || (g_.node(reader).op == Op::concat && is_stored_[reader.index]);
      });
      if (is_output_[i])
        is_in_place[i] = !pieces({i}).empty();
      else if (!is_piece)
        is_in_place[i] = are_mostly_products({i}) && !is_reduced({i});
      if (is_in_place[i]) found.push_back({i});
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  bool is_stored(NodeId n) const { return is_stored_[n.index]; }
  std::vector<ConcatPiece> pieces(NodeId n) const {
    return pieces_of(g_, n, [&](NodeId x) { return is_stored(x); });
  }

  // Whether operands with at least half of the elements are computed from reductions of their size that no other operand needs.
  bool are_mostly_products(NodeId whole) const {
    std::map<NodeId, int> uses;
    std::vector<std::pair<double, std::set<NodeId>>> computed;
    for (NodeId operand : g_.node(whole).operands) {
      computed.emplace_back(estimated_elements(g_.node(operand).shape), reductions_in(g_, operand, [&](NodeId x) { return is_stored(x); }));
      for (NodeId r : computed.back().second) ++uses[r];
    }
    double own = 0;
    for (const auto& [size, reductions] : computed) {
      const bool is_own = std::all_of(reductions.begin(), reductions.end(), [&](NodeId r) { return uses.at(r) == 1; });
      const bool is_large = std::any_of(reductions.begin(), reductions.end(),
                                        [&, size = size](NodeId r) { return estimated_elements(g_.node(r).shape) >= size; });
      if (is_own && is_large) own += size;
    }
    return own > 0 && 2 * own >= estimated_elements(g_.node(whole).shape);
  }

  // Whether all that is read are slices along the axis, or a reduction walks the axis before a product does.
  bool is_reduced(NodeId whole) const {
    const int axis = g_.node(whole).axes[0];
    const bool is_sliced = std::all_of(readers_[whole.index].begin(), readers_[whole.index].end(),
                                       [&](NodeId reader) { return g_.node(reader).op == Op::slice && g_.node(reader).axes[0] == axis; });
    if (is_sliced) return true;
    std::set<std::pair<NodeId, int>> seen;
    std::vector<std::pair<NodeId, int>> todo{{whole, axis}};
    while (!todo.empty() && seen.size() < kMostStepsOfPiece) {
      const auto at = todo.back();
      todo.pop_back();
      if (!seen.insert(at).second) continue;
      for (NodeId reader : readers_[at.first.index]) {
        const Node& n = g_.node(reader);
        const bool walks = n.op == Op::reduce && std::find(n.axes.begin(), n.axes.end(), at.second) != n.axes.end();
        if (walks) return true;
        if (const int there = axis_after(n, g_.node(at.first), at.second); there >= 0 && !is_stored(reader))
          todo.emplace_back(reader, there);
      }
    }
    return false;
  }

  // The axis of an operand in the result of an op that works element by element; -1 if there is none.
  static int axis_after(const Node& n, const Node& operand, int axis) {
    if (n.op == Op::map || n.op == Op::broadcast) return axis + static_cast<int>(n.shape.size() - operand.shape.size());
    if (n.op != Op::permute) return -1;
    return static_cast<int>(std::find(n.axes.begin(), n.axes.end(), axis) - n.axes.begin());
  }

  const Graph& g_;
  const KnownNodes& known_;
  const std::vector<bool>&is_needed_, &is_stored_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
};

}  // namespace

std::vector<ConcatPiece> pieces_of(const Graph& g, NodeId whole, const IsStored& is_stored) {
  std::vector<ConcatPiece> pieces;
  const Node& n = g.node(whole);
  if (n.op == Op::concat && !reductions_in(g, whole, is_stored).empty())
    add_pieces(g, whole, std::vector<Dim>(n.shape.size(), 0), is_stored, pieces);
  return pieces;
}

std::vector<NodeId> concatenations_in_place(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed,
                                            const std::vector<bool>& is_stored) {
  return ConcatenationsInPlace(g, known, is_needed, is_stored).run();
}

bool is_needed_once(const Graph& g, NodeId value, const std::vector<std::size_t>& uses, const std::vector<bool>& is_computed) {
  std::map<NodeId, std::size_t> own{{value, 1}};  // uses inside of the value, and by the concatenation
  std::vector<NodeId> todo{value};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (NodeId x : g.node(n).operands)
      if (is_computed[x.index] && ++own[x] == 1) todo.push_back(x);
    if (own.size() > kMostStepsOfPiece) return false;
  }
  return std::all_of(own.begin(), own.end(), [&](const auto& node) { return uses[node.first.index] == node.second; });
}

}  // namespace tilewright::passes::fusion
