// Names nodes for reports.
#include "runtime/plan/node_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "passes/fusion/report/covered_nodes.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::detail {

namespace {

std::string labelled(const std::string& name, const std::string& function) {
  return name.empty() ? function : fmt::format("{} ({})", name, function);
}

/// The nodes that compute something. If all are views, returns the views.
std::vector<graph::NodeId> without_views(const graph::Graph& g, const std::vector<graph::NodeId>& nodes) {
  std::vector<graph::NodeId> computing;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(computing), [&](graph::NodeId id) { return !graph::is_view(g.node(id).op); });
  return computing.empty() ? nodes : computing;
}

}  // namespace

std::vector<CoveredNode> named_nodes(const graph::Graph& g, const std::vector<graph::NodeId>& nodes) {
  std::vector<CoveredNode> covered;
  std::map<std::uint32_t, std::size_t> composites;  // the position in `covered` of each composite
  for (graph::NodeId id : nodes) {
    const graph::Node& n = g.node(id);
    if (passes::fusion::computes_nothing(n.op)) continue;
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

std::vector<std::string> covered_texts(const graph::Graph& g, const std::vector<graph::NodeId>& nodes) {
  struct Line {
    std::string where;
    std::vector<std::pair<std::string, int>> names;  // each name with its count
  };
  std::vector<Line> lines;
  for (const CoveredNode& c : named_nodes(g, without_views(g, nodes))) {
    if (lines.empty() || lines.back().where != short_text(c.where)) lines.push_back({short_text(c.where), {}});
    auto& names = lines.back().names;
    const auto same = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == c.name; });
    if (same == names.end())
      names.emplace_back(c.name, 1);
    else
      ++same->second;
  }
  std::vector<std::string> texts;
  for (const Line& l : lines) {
    std::string text;
    for (const auto& [name, count] : l.names)
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name, count > 1 ? fmt::format(" x{}", count) : "");
    texts.push_back(fmt::format("{} ({})", text, l.where));
  }
  return texts;
}

std::string source_text(const graph::Graph& g, const passes::fusion::SequenceBuffer& b) {
  using passes::fusion::BufferContents;
  const graph::Node& n = g.node(b.source);
  const char* what = b.contents == BufferContents::part ? "part of " : b.contents == BufferContents::state ? "state of " : "";
  return fmt::format("{}{} at {}", what, n.composite ? g.composite(*n.composite).name : graph::function_name(n),
                     short_text(graph::call_location(g, b.source)));
}

std::string grid_text(const std::array<std::int64_t, 3>& grid) {
  if (grid[2] != 1) return fmt::format("[{}, {}, {}]", grid[0], grid[1], grid[2]);
  return grid[1] != 1 ? fmt::format("[{}, {}]", grid[0], grid[1]) : fmt::format("[{}]", grid[0]);
}

std::string short_text(const Location& where) {
  const auto folder = where.file.rfind('/');
  return fmt::format("{}:{}", folder == std::string::npos ? where.file : where.file.substr(folder + 1), where.line);
}

}  // namespace tilewright::detail
