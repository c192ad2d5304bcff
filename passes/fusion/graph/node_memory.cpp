// Looks at the op of a node, and at its operands.
#include "passes/fusion/graph/node_memory.h"

#include <algorithm>

#include "tileir/graph/neutral.h"

#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

bool has_own_memory(const Node& n) { return n.op == Op::input || (n.op == Op::constant && n.data->bits.size() > 1); }

bool is_written_in_parts(const Graph& g, const Node& n, bool is_host) {
  if (n.op != Op::concat) return false;
  // If rows of several operands share a vector, masks are cheaper than handling rows separately.
  const auto along = static_cast<std::size_t>(n.axes[0]);
  const Dim& extent = n.shape[along];
  const bool has_short_rows = along + 1 == n.shape.size() && extent.is_constant() &&
                              extent.value() < kShortJoinedRow * static_cast<std::int64_t>(n.operands.size());
  const std::size_t most = is_host && !has_short_rows ? kMostJoinedOnHost : kMostJoined;
  if (n.operands.size() <= most) return false;
  return std::count_if(n.operands.begin(), n.operands.end(), [&](NodeId x) { return !graph::is_empty(g.node(x).shape); }) >
         static_cast<std::ptrdiff_t>(most);
}

bool has_own_kernels(Op op) { return op == Op::scatter_add || op == Op::call; }

bool is_in_memory(const Node& n) { return n.op == Op::input || n.op == Op::scalar || (n.op == Op::constant && n.data->bits.size() > 1); }

}  // namespace tilewright::passes::fusion
