// Follows parameters and constants through the graph.
#include "passes/fusion/graph/known_nodes.h"

#include <algorithm>

#include "passes/fusion/graph/node_memory.h"

namespace tilewright::passes::fusion {

using graph::NodeId;
using graph::Op;

KnownNodes::KnownNodes(const graph::Graph& g) : known_(g.size()) {
  for (std::uint32_t i = 0; i < g.size(); ++i)
    if (const graph::Node& n = g.node({i}); n.op == Op::input && n.is_parameter)
      for (const Dim& d : n.shape)
        for (std::uint32_t s : d.symbols()) symbols_.insert(s);
  const auto all_fixed = [&](const std::vector<Dim>& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](const Dim& d) { return is_fixed(d); });
  };
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    // Nodes with kernels of their own are computed in every run.
    known_[i] = n.op != Op::scalar && !has_own_kernels(n.op) && (n.op != Op::input || n.is_parameter) && all_fixed(n.shape) &&
                all_fixed(n.lengths) && std::all_of(n.operands.begin(), n.operands.end(), [&](NodeId x) { return is_known(x); });
  }
}

bool KnownNodes::is_fixed(const Dim& d) const {
  const std::vector<std::uint32_t> symbols = d.symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](std::uint32_t s) { return symbols_.contains(s); });
}

}  // namespace tilewright::passes::fusion
