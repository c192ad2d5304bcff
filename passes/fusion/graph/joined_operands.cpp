// Counts the operands of nested concatenations, inner ones first, and decides for the outer ones first.
#include "passes/fusion/graph/joined_operands.h"

#include <utility>

#include "passes/fusion/thresholds.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

namespace {

std::size_t axis_of(const Node& concat) { return static_cast<std::size_t>(concat.axes[0]); }

// Whether so many operands with elements are too many for one kernel. If rows of several operands share a vector, masks are cheaper than
// handling rows separately.
bool are_many(const Node& n, std::size_t operands, bool is_host) {
  const Dim& extent = n.shape[axis_of(n)];
  const bool has_short_rows =
      axis_of(n) + 1 == n.shape.size() && extent.is_constant() && extent.value() < kShortJoinedRow * static_cast<std::int64_t>(operands);
  return operands > (is_host && !has_short_rows ? kMostJoinedOnHost : kMostJoined);
}

}  // namespace

JoinedConcats joined_concats(const Graph& g, const std::vector<bool>& needed, const std::vector<std::size_t>& uses, bool is_host) {
  JoinedConcats found{std::vector<bool>(g.size()), std::vector<bool>(g.size())};
  const auto may_be_inner = [&](NodeId x, const Node& reader) {
    const Node& n = g.node(x);
    return n.op == Op::concat && uses[x.index] == 1 && n.axes == reader.axes && !graph::is_empty(n.shape);
  };
  std::vector<std::size_t> operands(g.size(), 1);  // the number of operands that have elements, with those of inner concatenations
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    if (!needed[i] || n.op != Op::concat) continue;
    operands[i] = 0;
    for (NodeId x : n.operands)
      if (!graph::is_empty(g.node(x).shape)) operands[i] += may_be_inner(x, n) ? operands[x.index] : 1;
  }
  for (std::uint32_t i = static_cast<std::uint32_t>(g.size()); i-- > 0;) {
    const Node& n = g.node({i});
    if (!needed[i] || n.op != Op::concat) continue;
    found.is_in_parts[i] = !found.is_inner[i] && are_many(n, operands[i], is_host);
    if (!found.is_in_parts[i] && !found.is_inner[i]) continue;
    for (NodeId x : n.operands)
      if (may_be_inner(x, n)) found.is_inner[x.index] = true;
  }
  return found;
}

std::vector<JoinedOperand> joined_operands(const Graph& g, NodeId whole, const std::function<bool(NodeId)>& is_inner) {
  const std::size_t along = axis_of(g.node(whole));
  std::vector<JoinedOperand> all;
  std::vector<NodeId> todo{whole};  // the next one last
  Dim begin = 0;
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (n == whole || is_inner(n)) {
      todo.insert(todo.end(), g.node(n).operands.rbegin(), g.node(n).operands.rend());
      continue;
    }
    if (!graph::is_empty(g.node(n).shape)) all.push_back({n, begin});
    begin = begin + g.node(n).shape[along];
  }
  return all;
}

}  // namespace tilewright::passes::fusion
