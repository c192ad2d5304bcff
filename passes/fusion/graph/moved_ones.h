// Reshapes that only add and remove axes of extent 1: all other axes are those of the operand, in the same order.
#pragma once
#include <algorithm>
#include <iterator>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

inline bool is_one(const Dim& d) { return d == Dim(1); }

/// Whether the shapes differ only by extents of 1.
inline bool moves_ones(const graph::TensorShape& from, const graph::TensorShape& to) {
  graph::TensorShape a, b;
  std::remove_copy_if(from.begin(), from.end(), std::back_inserter(a), is_one);
  std::remove_copy_if(to.begin(), to.end(), std::back_inserter(b), is_one);
  return a == b;
}

inline bool moves_ones(const graph::Graph& g, const graph::Node& n) {
  return n.op == graph::Op::reshape && moves_ones(g.node(n.operands[0]).shape, n.shape);
}

}  // namespace tilewright::passes::fusion
