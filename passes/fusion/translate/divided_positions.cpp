// Counts the operands with axes of their own on paths, operands first.
#include "passes/fusion/translate/divided_positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "passes/fusion/thresholds.h"
#include "tileir/graph/function_name.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

std::set<NodeId> values_between_divisions(const graph::Graph& g, const AxisAnalysis& axes,
                                          const std::function<bool(NodeId)>& may_be_stored) {
  std::map<NodeId, std::size_t> divisions;
  std::set<NodeId> stored;
  for (NodeId n : axes.nodes()) {
    std::size_t most = 0;
    for (std::size_t i = 0; !axes.is_stored(n) && i < g.node(n).operands.size(); ++i) {
      const NodeId x = g.node(n).operands[i];
      const auto inside = divisions.find(x);
      if (inside == divisions.end()) continue;  // an operand without elements
      std::size_t own = stored.contains(x) ? 0 : inside->second;
      if (axes.is_detached({n, i}) && ++own > kMostDivisions && may_be_stored(x)) {
        stored.insert(x);
        own = 1;
      }
      most = std::max(most, own);
    }
    divisions[n] = most;
  }
  return stored;
}

std::string divided_text(const graph::Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format("not fused: {} ({}:{}) is stored, because more than {} reshapes in a row divide positions", graph::display_name(g, n),
                     where.file, where.line, kMostDivisions);
}

}  // namespace tilewright::passes::fusion
