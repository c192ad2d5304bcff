// Unifies and splits the atoms of axes, op by op.
#include "passes/fusion/translate/axes.h"

#include <algorithm>
#include <string_view>

#include "passes/fusion/graph_walk.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

AxisAnalysis::AxisAnalysis(const graph::Graph& g, const std::vector<NodeId>& outputs, std::set<NodeId> stored)
    : g_(g), outputs_(outputs), stored_(std::move(stored)) {
  std::set<NodeId> visited;
  const auto parts = [&](NodeId n) {
    std::vector<NodeId> operands;
    for (std::size_t i = 0; i < g_.node(n).operands.size(); ++i)
      if (is_visited(n, i)) operands.push_back(g_.node(n).operands[i]);
    return operands;
  };
  for (NodeId n : outputs_)
    visit_operands_first(n, parts, [&](NodeId x) { return visited.insert(x).second; }, [&](NodeId x) { order_.push_back(x); });
  build();
}

// A tensor without elements needs no operands; a reduction or a product over no elements is a constant; a pad or a concatenation needs only
// the other operands.
bool AxisAnalysis::is_visited(NodeId n, std::size_t i) const {
  const graph::Node& node = g_.node(n);
  if (stored_.count(n) != 0 || graph::is_empty(node.shape)) return false;
  if (!graph::has_empty_operand(g_, node)) return true;
  return (node.op == Op::pad || node.op == Op::concat) && !graph::is_empty(g_.node(node.operands[i]).shape);
}

// Each failed attempt detaches one more operand of a node. It leaves no trace in the atoms of the nodes before.
void AxisAnalysis::build() {
  for (NodeId n : order_)
    for (bool is_made = false; !is_made;) {
      pool_.begin_attempt();
      try {
        atoms_[n] = make_atoms(n);
        is_made = true;
      } catch (const Mismatch& m) {
        // A further attempt with the same operands would end here again.
        if (!detached_.insert(m.use).second) throw;
        labels_.erase(n);
        pool_.undo_attempt();
      }
    }
}

void AxisAnalysis::broadcast(AtomList& result, const AtomList& operand, Use blamed) {
  if (!pool_.try_broadcast(result, operand)) throw Mismatch{blamed};
}

// ---- nodes ----

TensorAtoms AxisAnalysis::operand(NodeId n, std::size_t i) {
  const Use use{n, i};
  if (!is_detached(use)) return atoms_.at(g_.node(n).operands[i]);
  TensorAtoms own = pool_.fresh(g_.node(g_.node(n).operands[i]).shape);
  detached_atoms_[use] = own;
  return own;
}

TensorAtoms AxisAnalysis::make_atoms(NodeId n) {
  const graph::Node& node = g_.node(n);
  if (stored_.count(n) != 0) return pool_.fresh(node.shape);
  const bool is_constant = !node.operands.empty() && !is_visited(n, 0) && !(node.op == Op::pad || node.op == Op::concat);
  if (is_constant) return pool_.fresh(node.shape);
  switch (node.op) {
#define TW_GRAPH_OP(name, ...) \
  case Op::name: return atoms_##name(n);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  }
  TW_UNREACHABLE("a tensor op");
}

TensorAtoms AxisAnalysis::atoms_input(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_scalar(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_constant(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_iota(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_extent(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_rand(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_argument(NodeId n) { return pool_.fresh(g_.node(n).shape); }
// Results of nodes with kernels of their own have axes of their own.
TensorAtoms AxisAnalysis::atoms_scatter_add(NodeId n) { return pool_.fresh(g_.node(n).shape); }
TensorAtoms AxisAnalysis::atoms_call(NodeId n) { return pool_.fresh(g_.node(n).shape); }

TensorAtoms AxisAnalysis::atoms_map(NodeId n) {
  const graph::Node& node = g_.node(n);
  TensorAtoms result(node.shape.size());
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const TensorAtoms x = operand(n, i);
    const std::size_t missing = result.size() - x.size();
    for (std::size_t axis = 0; axis < x.size(); ++axis) broadcast(result[missing + axis], x[axis], {n, i});
  }
  for (std::size_t axis = 0; axis < result.size(); ++axis)
    if (result[axis].empty()) result[axis] = pool_.fresh(node.shape[axis]);
  return result;
}

TensorAtoms AxisAnalysis::atoms_broadcast(NodeId n) { return atoms_map(n); }

TensorAtoms AxisAnalysis::atoms_permute(NodeId n) {
  const TensorAtoms x = operand(n, 0);
  TensorAtoms result;
  for (int axis : g_.node(n).axes) result.push_back(x[axis]);
  return result;
}

// Along a padded axis, the result has positions of its own.
TensorAtoms AxisAnalysis::atoms_pad(NodeId n) {
  const graph::Node& node = g_.node(n);
  if (!is_visited(n, 0)) return pool_.fresh(node.shape);
  TensorAtoms result = operand(n, 0);
  result[node.axes[0]] = pool_.fresh(node.shape[node.axes[0]]);
  return result;
}
TensorAtoms AxisAnalysis::atoms_scan(NodeId n) { return atoms_pad(n); }
TensorAtoms AxisAnalysis::atoms_flip(NodeId n) { return atoms_pad(n); }
TensorAtoms AxisAnalysis::atoms_rotate(NodeId n) { return atoms_pad(n); }

TensorAtoms AxisAnalysis::atoms_materialize(NodeId n) { return operand(n, 0); }

TensorAtoms AxisAnalysis::atoms_window(NodeId n) {
  TensorAtoms result = atoms_pad(n);
  result.push_back(pool_.fresh(g_.node(n).shape.back()));
  return result;
}

TensorAtoms AxisAnalysis::atoms_reduce(NodeId n) {
  const graph::Node& node = g_.node(n);
  const TensorAtoms x = operand(n, 0);
  TensorAtoms result;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const bool reduced = std::find(node.axes.begin(), node.axes.end(), static_cast<int>(axis)) != node.axes.end();
    if (!reduced)
      result.push_back(x[axis]);
    else if (node.keep_dims)
      result.push_back({});
  }
  return result;
}

TensorAtoms AxisAnalysis::atoms_gather(NodeId n) {
  TensorAtoms table = operand(n, 0);
  const TensorAtoms index = operand(n, 1);
  const auto at = table.begin() + g_.node(n).axes[0];
  table.insert(table.erase(at), index.begin(), index.end());
  return table;
}

TensorAtoms AxisAnalysis::atoms_take_along(NodeId n) {
  TensorAtoms result = operand(n, 0);
  const TensorAtoms index = operand(n, 1);
  for (std::size_t axis = 0; axis < result.size(); ++axis) {
    if (static_cast<int>(axis) == g_.node(n).axes[0])
      result[axis] = index[axis];
    else
      broadcast(result[axis], index[axis], {n, 1});
  }
  return result;
}

TensorAtoms AxisAnalysis::atoms_reshape(NodeId n) {
  const graph::Node& node = g_.node(n);
  const TensorAtoms x = operand(n, 0);
  if (is_detached({n, 0})) return pool_.fresh(node.shape);
  if (auto result = pool_.reshaped(x, node.shape)) return std::move(*result);
  throw Mismatch{{n, 0}};
}

// A slice that is exactly one tensor of a concatenation has that tensor's axis.
TensorAtoms AxisAnalysis::atoms_slice(NodeId n) {
  const graph::Node& node = g_.node(n);
  TensorAtoms result = operand(n, 0);
  AtomList& axis = result[node.axes[0]];
  const AtomList all = pool_.flat(axis);
  if (all.size() == 1 && node.lengths[2] == Dim(1))
    for (const Atom::Piece& piece : all[0]->pieces)
      if (piece.begin == node.lengths[0] && piece.end == node.lengths[1]) {
        axis = piece.atoms;
        return result;
      }
  axis = pool_.fresh(node.shape[node.axes[0]]);
  return result;
}

TensorAtoms AxisAnalysis::atoms_concat(NodeId n) {
  const graph::Node& node = g_.node(n);
  const int along = node.axes[0];
  struct Joined {
    std::size_t operand;
    TensorAtoms atoms;
  };
  std::vector<Joined> all;
  for (std::size_t i = 0; i < node.operands.size(); ++i)
    if (is_visited(n, i)) all.push_back({i, operand(n, i)});
  if (all.empty()) return pool_.fresh(node.shape);
  TensorAtoms result = all[0].atoms;
  for (const Joined& j : all)
    for (std::size_t axis = 0; axis < result.size(); ++axis)
      if (static_cast<int>(axis) != along && j.operand != all[0].operand) broadcast(result[axis], j.atoms[axis], {n, j.operand});
  result[along] = pool_.fresh(node.shape[along]);
  Dim begin = 0;
  for (const Joined& j : all) {
    const Dim end = begin + g_.node(node.operands[j.operand]).shape[along];
    pool_.add_piece(result[along], begin, end, j.atoms[along]);
    begin = end;
  }
  return result;
}

TensorAtoms AxisAnalysis::atoms_einsum(NodeId n) {
  const graph::Node& node = g_.node(n);
  const std::string_view equation = node.text;
  const std::size_t arrow = equation.find("->");
  std::map<char, AtomList>& labels = labels_[n];
  std::size_t at = 0;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const TensorAtoms x = operand(n, i);
    for (const AtomList& axis : x) broadcast(labels[equation[at++]], axis, {n, i});
    ++at;  // the comma, or the arrow
  }
  TensorAtoms result;
  for (char c : equation.substr(arrow + 2)) result.push_back(labels[c]);
  return result;
}

// ---- reading ----

TensorAtoms AxisAnalysis::atoms(NodeId n) const {
  TensorAtoms all = atoms_.at(n);
  for (AtomList& axis : all) axis = graph::flat(axis);
  return all;
}

TensorAtoms AxisAnalysis::operand_atoms(NodeId n, std::size_t i) const {
  const auto at = detached_atoms_.find({n, i});
  TensorAtoms all = at == detached_atoms_.end() ? atoms_.at(g_.node(n).operands[i]) : at->second;
  for (AtomList& axis : all) axis = graph::flat(axis);
  return all;
}

const std::map<char, AtomList>& AxisAnalysis::labels(NodeId n) const {
  static const std::map<char, AtomList> kNone;  // a product over no elements
  const auto known = labels_.find(n);
  return known == labels_.end() ? kNone : known->second;
}

}  // namespace tilewright::passes::fusion
