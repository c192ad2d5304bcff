// Follows paths of a graph from joins of values down to products of the same values.
#include "passes/fusion/segments/product_reuse.h"

#include <algorithm>
#include <string>
#include <utility>

#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

using graph::Node;
using graph::NodeId;

namespace {

// Whether operands that lack different labels of the result are contracted.
bool is_product_of_labels(const Node& n) {
  if (n.op != graph::Op::einsum) return false;
  const std::size_t arrow = n.text.find("->");
  const std::string result = n.text.substr(arrow + 2);
  std::vector<std::string> operands(1);
  for (char c : n.text.substr(0, arrow)) {
    if (c == ',')
      operands.emplace_back();
    else
      operands.back() += c;
  }
  const auto lacks = [&](const std::string& a, const std::string& b) {
    return std::any_of(result.begin(), result.end(), [&](char c) { return a.find(c) == a.npos && b.find(c) != b.npos; });
  };
  for (const std::string& a : operands)
    for (const std::string& b : operands)
      if (lacks(a, b) && lacks(b, a)) return true;
  return false;
}

}  // namespace

ProductReuse::ProductReuse(const graph::Graph& g) : g_(g), is_product_(g.size()), products_(g.size()), visited_(g.size()) {
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    is_product_[i] = is_product_of_labels(n);
    for (NodeId x : n.operands) products_[i] = std::max(products_[i], products_[x.index]);
    products_[i] += is_product_[i] ? 1 : 0;
  }
}

NodeId ProductReuse::needed_again(NodeId join) const {
  const Node& n = g_.node(join);
  for (std::size_t i = 0; i < n.operands.size(); ++i)
    for (std::size_t k = 0; k < n.operands.size(); ++k) {
      if (i == k) continue;
      if (const NodeId a = needed_again(n.operands[i], n.operands[k], graph::element_count(n.shape), kFarthestReuse); a.valid()) return a;
    }
  return {};
}

NodeId ProductReuse::needed_again(NodeId a, NodeId other, const Dim& count, int farthest) const {
  while (graph::is_view(g_.node(a).op)) a = g_.node(a).operands[0];
  const Node& n = g_.node(a);
  if (graph::is_leaf(n.op) || graph::element_count(n.shape) != count) return {};
  if (depends_by_product(other, a)) return a;
  if (n.op != graph::Op::map || farthest == 0) return {};
  for (NodeId x : n.operands)
    if (const NodeId found = needed_again(x, other, count, farthest - 1); found.valid()) return found;
  return {};
}

bool ProductReuse::depends_by_product(NodeId from, NodeId on) const {
  const int products = products_[on.index];
  if (products_[from.index] <= products) return false;
  ++walk_;
  std::vector<std::pair<NodeId, bool>> todo{{from, false}};
  for (std::size_t steps = 0; !todo.empty() && steps < kMostStepsOfReuse; ++steps) {
    const auto [n, has_product] = todo.back();
    todo.pop_back();
    if (n == on) {
      if (has_product) return true;
      continue;
    }
    // On each path down, there is one product less after each product.
    if (n < on || products_[n.index] < products + (has_product ? 0 : 1)) continue;
    std::uint64_t& visited = visited_[n.index][has_product ? 1 : 0];
    if (visited == walk_) continue;
    visited = walk_;
    for (NodeId x : g_.node(n).operands) todo.emplace_back(x, has_product || is_product_[n.index]);
  }
  return false;
}

}  // namespace tilewright::passes::fusion
