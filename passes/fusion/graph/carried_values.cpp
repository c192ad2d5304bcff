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

// A tensor in memory, and a position of a window in which an element of a value reads it.
struct WindowRead {
  NodeId tensor;
  std::uint64_t position = 0;  // wraps around for windows of windows of very many steps
  friend bool operator==(const WindowRead&, const WindowRead&) = default;
};

bool reads_many(const Graph& g, NodeId n, const std::vector<WindowRead>& reads) {
  const double most = estimated_elements(g.node(n).shape) / 2;
  const auto is_large = [&](const WindowRead& r) { return estimated_elements(g.node(r.tensor).shape) >= most; };
  return static_cast<std::size_t>(std::ranges::count_if(reads, is_large)) > kMostTensorsReadAgain;
}

// The positions of a window of which each reads other elements; windows of unknown size count as one.
std::uint64_t positions_of_window(const Node& n) {
  constexpr auto kMost = static_cast<std::int64_t>(kMostKeptTensors);
  return n.op == graph::Op::window && n.lengths[0].is_constant()
             ? static_cast<std::uint64_t>(std::clamp<std::int64_t>(n.lengths[0].value(), 1, kMost))
             : 1;
}

}  // namespace

std::vector<NodeId> carried_values(const Graph& g, const KnownNodes& known, const std::vector<bool>& is_needed,
                                   const std::vector<bool>& is_cut, const std::vector<int>& level) {
  std::vector<std::vector<WindowRead>> reads(g.size());  // what a value's formula reads of tensors in memory, at most kMostKeptTensors
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
    std::vector<WindowRead>& own = reads[i];
    const std::uint64_t positions = positions_of_window(g.node({i}));
    const auto add = [&](const WindowRead& r) {
      for (std::uint64_t k = 0; k < positions; ++k)
        if (const WindowRead at{r.tensor, r.position * positions + k};
            own.size() < kMostKeptTensors && std::ranges::find(own, at) == own.end())
          own.push_back(at);
    };
    for (NodeId x : g.node({i}).operands) {
      if (is_stored(x, {i}))
        add({x});
      else
        std::ranges::for_each(reads[x.index], add);
    }
  }
  std::ranges::sort(found);
  return found;
}

std::string carried_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format(
      "not fused: {} ({}:{}) is stored, because later kernels would compute each element of it again from more than {} others",
      graph::display_name(g, n), where.file, where.line, kMostTensorsReadAgain);
}

}  // namespace tilewright::passes::fusion
