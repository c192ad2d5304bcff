// Names nodes for reports.
#include "frontend/graph/plan/node_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "passes/fusion/covered_nodes.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::detail {

namespace {

std::string labelled(const std::string& name, const std::string& function) {
  return name.empty() ? function : fmt::format("{} ({})", name, function);
}

}  // namespace

std::vector<CoveredNode> named_nodes(const graph::Graph& g, const std::vector<graph::NodeId>& nodes) {
  std::vector<CoveredNode> covered;
  std::map<std::uint32_t, std::size_t> composites;  // where in `covered`
  for (graph::NodeId id : nodes) {
    const graph::Node& n = g.node(id);
    if (passes::fusion::is_leaf(n.op)) continue;
    if (!n.composite) {
      covered.push_back({labelled(n.name, graph::function_name(n)), n.where});
      continue;
    }
    const graph::Composite& c = g.composite(*n.composite);
    const auto [at, is_new] = composites.emplace(*n.composite, covered.size());
    if (is_new) covered.push_back({c.name, c.where});
    if (!n.name.empty()) covered[at->second].name = labelled(n.name, c.name);
  }
  return covered;
}

std::vector<graph::NodeId> without_views(const graph::Graph& g, const std::vector<graph::NodeId>& nodes) {
  std::vector<graph::NodeId> computing;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(computing), [&](graph::NodeId id) {
    const graph::Op op = g.node(id).op;
    return graph::info(op).family != graph::Family::shape || op == graph::Op::pad || op == graph::Op::concat;
  });
  return computing.empty() ? nodes : computing;
}

std::string grid_text(const std::array<std::int64_t, 3>& grid) {
  if (grid[2] > 1) return fmt::format("[{}, {}, {}]", grid[0], grid[1], grid[2]);
  return grid[1] > 1 ? fmt::format("[{}, {}]", grid[0], grid[1]) : fmt::format("[{}]", grid[0]);
}

std::string short_text(const Location& where) {
  const auto folder = where.file.rfind('/');
  return fmt::format("{}:{}", folder == std::string::npos ? where.file : where.file.substr(folder + 1), where.line);
}

std::string bytes_text(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace tilewright::detail
