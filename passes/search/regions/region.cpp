// Copies nodes into a graph of their own.
#include "passes/search/regions/region.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

class RegionMaker {
 public:
  RegionMaker(const graph::Graph& whole, const std::vector<bool>& known) : whole_(whole), known_(known) {
    region_.graph = graph::Graph(whole.symbols());
  }

  Region run(const std::vector<NodeId>& nodes, const std::vector<NodeId>& results) {
    for (NodeId n : nodes) own_.emplace(n, NodeId());
    for (NodeId n : nodes) own_[n] = copy(n);
    for (NodeId n : results) {
      region_.graph.add_output({fmt::format("y{}", region_.results.size()), own_.at(n), whole_.node(n).where});
      region_.results.push_back(n);
    }
    // Reports alone read names and composites, so equal regions may differ in them.
    region_.structure = graph::print(region_.graph);
    for (std::uint32_t i = 0; i < whole_.composites(); ++i) named_.add_composite(whole_.composite(i));
    for (std::uint32_t i = 0; i < region_.graph.size(); ++i) {
      Node n = region_.graph.node({i});
      const Node& origin = whole_.node(region_.origins[i]);
      n.composite = origin.composite;
      n.name = origin.name;
      named_.append(std::move(n));
    }
    for (const graph::Output& o : region_.graph.outputs()) named_.add_output(o);
    region_.graph = std::move(named_);
    return std::move(region_);
  }

 private:
  NodeId append(Node n, NodeId origin) {
    n.name.clear();
    n.composite.reset();
    region_.origins.push_back(origin);
    return region_.graph.append(std::move(n));
  }

  NodeId copy(NodeId from) {
    Node n = whole_.node(from);
    for (NodeId& x : n.operands) x = operand(x);
    if (n.combiner.valid()) n.combiner = function(n.combiner);
    return append(std::move(n), from);
  }

  NodeId operand(NodeId from) {
    if (const auto own = own_.find(from); own != own_.end()) return own->second;
    const Node& n = whole_.node(from);
    const NodeId made = is_copied(n) ? append(n, from) : input(from);
    return own_[from] = made;
  }

  NodeId input(NodeId from) {
    const Node& n = whole_.node(from);
    Node made;
    made.op = n.op == Op::scalar ? Op::scalar : Op::input;
    made.element = n.element;
    made.shape = n.shape;
    if (n.op == Op::input) made.lengths = n.lengths;
    made.is_parameter = made.op == Op::input && known_[from.index];
    made.text = fmt::format("x{}", region_.inputs.size());
    made.where = n.where;
    region_.inputs.push_back(from);
    return append(std::move(made), from);
  }

  /// The function of a reduction: nodes of scalars, of which operands come first.
  NodeId function(NodeId result) {
    std::vector<NodeId> needed, todo = {result};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (own_.contains(n) || std::find(needed.begin(), needed.end(), n) != needed.end()) continue;
      needed.push_back(n);
      for (NodeId x : whole_.node(n).operands) todo.push_back(x);
    }
    std::sort(needed.begin(), needed.end());
    for (NodeId from : needed) {
      Node n = whole_.node(from);
      for (NodeId& x : n.operands) x = own_.at(x);
      own_[from] = append(std::move(n), from);
    }
    return own_.at(result);
  }

  const graph::Graph& whole_;
  const std::vector<bool>& known_;
  Region region_;
  graph::Graph named_{whole_.symbols()};
  std::map<NodeId, NodeId> own_;  // by node of the whole graph: its node here
};

}  // namespace

std::vector<bool> known_before_run(const graph::Graph& g) {
  std::vector<bool> known(g.size());
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const Node& n = g.node({i});
    known[i] = n.op != Op::scalar && n.op != Op::call && n.op != Op::scatter_add && n.op != Op::argument &&
               (n.op != Op::input || n.is_parameter) &&
               std::all_of(n.operands.begin(), n.operands.end(), [&](NodeId x) { return known[x.index]; });
  }
  return known;
}

bool is_copied(const Node& n) {
  return graph::is_leaf(n.op) && n.op != Op::input && n.op != Op::scalar && (n.op != Op::constant || n.data->bits.size() == 1);
}

Region make_region(const graph::Graph& g, const std::vector<NodeId>& nodes, const std::vector<NodeId>& results,
                   const std::vector<bool>& known) {
  return RegionMaker(g, known).run(nodes, results);
}

}  // namespace tilewright::passes::search
