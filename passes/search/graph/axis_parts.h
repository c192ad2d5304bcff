// Divides the axes of a graph's values into parts, so that each axis of a labelled term is one part and reshapes only name parts otherwise.
//
// The parts are atoms (axis_atoms.h): element-wise ops and products unify those of the axes that meet, and a reshape splits them. A node for whose
// axes this fails ([6, 4] meets [4, 6] in one reshape), or which no labelled term expresses, is opaque: its result has axes of its own.
// The time is linear in the number of nodes.
#pragma once
#include <vector>

#include "tileir/graph/axis_atoms.h"
#include "tileir/graph/graph.h"

namespace tilewright::passes::search {

class AxisParts {
 public:
  enum class Reshapes : std::uint8_t { divide_axes, keep_axes };  // keep_axes: reshapes that divide or join axes are opaque

  /// Analyses the nodes that the outputs need.
  AxisParts(const graph::Graph&, Reshapes);

  bool is_needed(graph::NodeId n) const { return needed_[n.index]; }
  bool is_opaque(graph::NodeId n) const { return opaque_[n.index]; }
  /// The extents of the parts of each axis, outermost first.
  std::vector<std::vector<Dim>> of(graph::NodeId) const;
  /// The most parts that any value has.
  std::size_t most() const;

 private:
  const graph::TensorAtoms& operand(const graph::Node& n, std::size_t i) const { return axes_[n.operands[i].index]; }
  /// Each returns whether the axes have atoms in common.
  bool visit(const graph::Node&, graph::TensorAtoms& result);
  bool visit_map(const graph::Node&, graph::TensorAtoms& result);
  bool visit_reshape(const graph::Node&, graph::TensorAtoms& result);
  bool visit_concat(const graph::Node&, graph::TensorAtoms& result);
  bool visit_einsum(const graph::Node&, graph::TensorAtoms& result);

  const graph::Graph& g_;
  Reshapes reshapes_;
  std::vector<bool> needed_, opaque_;  // indexed by node
  graph::AtomPool pool_;
  std::vector<graph::TensorAtoms> axes_;  // indexed by node
};

}  // namespace tilewright::passes::search
