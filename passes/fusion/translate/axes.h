// Finds which axes of the tensors of a graph are the same.
//
// Each axis of each tensor is a list of atoms (axis_atoms.h). Element-wise ops and products unify the atoms of their operands, and a reshape
// splits atoms. Afterwards permute, reshape and broadcast only rearrange lists of atoms.
//
// If two tensors cannot share atoms ([6, 4] meets [4, 6] in one reshape), one of them is detached: its consumer treats it as a separate
// tensor in memory and reads it by the position in row-major order.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "passes/fusion/derivation_failed.h"
#include "tileir/graph/axis_atoms.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

using graph::Atom;
using graph::AtomList;
using graph::TensorAtoms;

/// An operand of a node, given by its position.
struct Use {
  graph::NodeId node;
  std::size_t operand;
  friend auto operator<=>(const Use&, const Use&) = default;
};

class AxisAnalysis {
 public:
  /// Analyses the nodes that the outputs need. Values of `stored` nodes are in memory: their operands are not visited.
  AxisAnalysis(const graph::Graph&, const std::vector<graph::NodeId>& outputs, std::set<graph::NodeId> stored);

  /// The nodes that the outputs need, operands first.
  const std::vector<graph::NodeId>& nodes() const { return order_; }
  bool is_stored(graph::NodeId n) const { return stored_.count(n) != 0; }
  /// The atoms of a value, where split atoms are replaced by their parts.
  TensorAtoms atoms(graph::NodeId) const;
  /// Whether an operand does not share the atoms of its consumer, and so is read from memory by position.
  bool is_detached(Use u) const { return detached_.count(u) != 0; }
  /// The atoms of each label of an einsum.
  const std::map<char, AtomList>& labels(graph::NodeId) const;
  /// The atoms of the operand, which include those of a reduced or indexed axis.
  TensorAtoms operand_atoms(graph::NodeId, std::size_t operand) const;

 private:
  struct Mismatch : DerivationFailed {
    explicit Mismatch(Use u) : DerivationFailed("an operand has axes of its own"), use(u) {}

    Use use;
  };
  void build();
  /// Whether the atoms of an operand are used: not if the node is read from memory, and not for operands without elements.
  bool is_visited(graph::NodeId, std::size_t operand) const;
  TensorAtoms make_atoms(graph::NodeId);
  TensorAtoms operand(graph::NodeId, std::size_t);
  // Declares TensorAtoms atoms_input(graph::NodeId) and so on: a tensor op without its function does not link.
#define TW_GRAPH_OP(name, ...) TensorAtoms atoms_##name(graph::NodeId);
#include "tileir/graph/graph_ops.def"
#undef TW_GRAPH_OP
  /// Unifies two axes, or broadcasts one of extent 1. Throws Mismatch.
  void broadcast(AtomList& result, const AtomList& operand, Use blamed);

  const graph::Graph& g_;
  std::vector<graph::NodeId> outputs_;
  std::set<graph::NodeId> stored_;
  std::vector<graph::NodeId> order_;
  std::set<Use> detached_;
  graph::AtomPool pool_;
  std::map<graph::NodeId, TensorAtoms> atoms_;
  std::map<Use, TensorAtoms> detached_atoms_;
  std::map<graph::NodeId, std::map<char, AtomList>> labels_;
};

}  // namespace tilewright::passes::fusion
