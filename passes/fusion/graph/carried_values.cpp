// Passes the tensors that formulas read from operands to users.
#include "passes/fusion/graph/carried_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

using graph::Graph;
using graph::Node;
using graph::NodeId;

namespace {

double elements_of(const Graph& g, NodeId n) { return estimated_extent(graph::element_count(g.node(n).shape)); }

bool reads_many(const Graph& g, NodeId n, const std::vector<NodeId>& tensors) {
  const double most = elements_of(g, n) / 2;
  const auto is_large = [&](NodeId t) { return elements_of(g, t) >= most; };
  return static_cast<std::size_t>(std::ranges::count_if(tensors, is_large)) > kMostTensorsReadAgain;
}

}  // namespace

std::vector<NodeId> carried_values(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed,
                                   const std::vector<bool>& is_cut, const std::vector<int>& level) {
  std::vector<std::vector<NodeId>> reads(g.size());  // the tensors in memory that a value's formula reads, at most kMostKeptTensors
  std::vector<bool> is_carried(g.size());
  std::vector<NodeId> found;
  const auto is_stored = [&](NodeId x, NodeId user) {
    if (is_cut[x.index] || has_own_memory(g.node(x))) return true;
    if (level[x.index] >= level[user.index]) return false;
    if (is_carried[x.index]) return true;
    if (graph::is_leaf(g.node(x).op) || graph::is_view(g.node(x).op) || known.is_known(x) || !reads_many(g, x, reads[x.index]))
      return false;
    is_carried[x.index] = true;
    found.push_back(x);
    return true;
  };
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    if (!is_needed[i]) continue;
    std::vector<NodeId>& own = reads[i];
    const auto add = [&](NodeId t) {
      if (own.size() < kMostKeptTensors && std::ranges::find(own, t) == own.end()) own.push_back(t);
    };
    for (NodeId x : g.node({i}).operands) {
      if (is_stored(x, {i}))
        add(x);
      else
        std::ranges::for_each(reads[x.index], add);
    }
  }
  std::ranges::sort(found);
  return found;
}

std::string carried_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format("not fused: {} ({}:{}) is stored, because later kernels would compute it again from more than {} tensors",
                     graph::display_name(g, n), where.file, where.line, kMostTensorsReadAgain);
}

}  // namespace tilewright::passes::fusion
