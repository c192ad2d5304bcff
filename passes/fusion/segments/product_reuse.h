// Finds values that are needed again when a product of them is complete.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Which values depend on others by products, along the paths of a graph, which has to outlive this.
class ProductReuse {
 public:
  explicit ProductReuse(const graph::Graph&);

  /// Whether the operands of a node are contracted so that each of two operands has labels of the result which the other one lacks.
  bool is_product(graph::NodeId n) const { return is_product_[n.index]; }
  /// Whether a path to the node has a product.
  bool holds_products(graph::NodeId n) const { return products_[n.index] > 0; }
  /// The value that `join` takes element by element, while another operand is a product of the same value; an invalid one if there is none.
  graph::NodeId needed_again(graph::NodeId join) const;
  /// Whether a path from `on` to `from` has a product. A walk of too many steps (kMostStepsOfReuse) finds none.
  bool depends_by_product(graph::NodeId from, graph::NodeId on) const;

 private:
  graph::NodeId needed_again(graph::NodeId a, graph::NodeId other, const Dim& count, int farthest) const;

  const graph::Graph& g_;
  std::vector<bool> is_product_;
  std::vector<int> products_;                                  // the greatest number of products on a path to each node
  mutable std::vector<std::array<std::uint64_t, 2>> visited_;  // for depends_by_product: the last walk that visited each node
  mutable std::uint64_t walk_ = 0;
};

}  // namespace tilewright::passes::fusion
