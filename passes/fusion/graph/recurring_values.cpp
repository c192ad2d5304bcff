// Counts reductions on the paths to each node, and passes the values that they read from operands to users.
#include "passes/fusion/graph/recurring_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/transcendental.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

class RecurringValues {
 public:
  RecurringValues(const Graph& g, const std::vector<bool>& is_needed) : g_(g), facts_(g.size()) {
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (is_needed[i]) visit({i});
  }

  std::vector<NodeId> found() const {
    std::vector<NodeId> all;
    for (const auto& [n, levels] : levels_)
      if (levels.size() > kMostReaders) all.push_back(n);
    return all;
  }

 private:
  struct Facts {
    bool is_pure = false;        // computed element by element from memory
    bool is_costly = false;      // contains a function that takes longer than reading the value
    bool is_full = false;        // reads a tensor in memory with the same number of elements
    int reductions = 0;          // on the longest path to the node
    std::vector<NodeId> values;  // pure and costly values from which the node is computed element by element
  };

  void visit(NodeId id) {
    const Node& n = g_.node(id);
    Facts& f = facts_[id.index];
    if (graph::is_leaf(n.op)) {
      f.is_pure = true;
      f.is_full = has_own_memory(n);
      return;
    }
    const bool is_elementwise = n.op == Op::map || n.op == Op::broadcast || n.op == Op::permute || n.op == Op::reshape;
    f.is_pure = is_elementwise;
    const Dim count = graph::element_count(n.shape);
    for (NodeId x : n.operands) {
      const Facts& operand = facts_[x.index];
      f.reductions = std::max(f.reductions, operand.reductions);
      f.is_pure = f.is_pure && operand.is_pure;
      f.is_costly = f.is_costly || operand.is_costly;
      f.is_full = f.is_full || (operand.is_full && graph::element_count(g_.node(x).shape) == count);
    }
    f.is_costly = f.is_costly || (n.op == Op::map && is_transcendental(n.function));
    if (f.is_pure) return;
    f.is_costly = false;
    for (NodeId x : n.operands) collect(x, f.values);
    const bool is_reduction = graph::combines_elements(n.op);
    if (!is_reduction && is_elementwise) return;
    if (is_reduction) {
      ++f.reductions;
      for (NodeId value : f.values) levels_[value].insert(f.reductions);
    }
    f.values.clear();
  }

  void collect(NodeId x, std::vector<NodeId>& values) const {
    const Facts& f = facts_[x.index];
    const std::vector<NodeId> own = f.is_pure && f.is_costly && f.is_full ? std::vector<NodeId>{x} : f.values;
    for (NodeId value : own)
      if (values.size() < kMostRecurringValues && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }

  const Graph& g_;
  std::vector<Facts> facts_;
  std::map<NodeId, std::set<int>> levels_;  // levels of the reductions that read each value
};

}  // namespace

std::vector<NodeId> recurring_values(const Graph& g, const std::vector<bool>& is_needed) { return RecurringValues(g, is_needed).found(); }

std::string recurring_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format("not fused: {} ({}:{}) is stored, because more than {} reductions that wait for each other read it",
                     graph::display_name(g, n), where.file, where.line, kMostReaders);
}

}  // namespace tilewright::passes::fusion
