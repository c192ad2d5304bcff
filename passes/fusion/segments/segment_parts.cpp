// Chooses cuts by the bytes of the values that are live across them.
#include "passes/fusion/segments/segment_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/views_in_row.h"
#include "passes/fusion/graph_walk.h"
#include "passes/fusion/thresholds.h"
#include "tileir/diagnostics.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/function_nodes.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::NodeId;

std::size_t weight(const graph::Node& n) { return graph::combines_elements(n.op) ? kOperationsOfReduction : 1; }

double bytes_of(const graph::Node& n) {
  double bytes = ir::bytes(n.element);
  for (const Dim& d : n.shape) bytes *= estimated_extent(d);
  return bytes;
}

// The operations of a segment in order, and the last use of each one's value.
class Operations {
 public:
  Operations(const Graph& g, const Segment& s) : g_(g), memory_(s.memory), results_(s.results.begin(), s.results.end()) {
    const std::set<NodeId> functions = nodes_of_functions(s);
    ViewsInRow views(g);
    for (NodeId n : s.nodes) {
      if (functions.contains(n) || s.memory.contains(n)) continue;
      const bool is_last_of_many = views.ends_at(n);
      if (!is_operation(n) && !is_last_of_many) continue;
      positions_[n] = order_.size();
      order_.push_back(n);
      weights_.push_back(is_last_of_many ? kViewsOfOperation : weight(g_.node(n)));
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      last_use_.push_back(i);
      for (NodeId x : g_.node(order_[i]).operands) {
        const auto at = positions_.find(without_views(x));
        if (at == positions_.end()) continue;
        TW_CHECK(at->second < i, "fusion: an operation of a segment comes before its operand");
        last_use_[at->second] = i;
      }
    }
  }

  std::size_t size() const { return order_.size(); }
  bool contains(NodeId n) const { return positions_.contains(n); }
  std::size_t weight_of(std::size_t i) const { return weights_[i]; }
  std::size_t weight_of_all() const {
    std::size_t all = 0;
    for (std::size_t i = 0; i < size(); ++i) all += weight_of(i);
    return all;
  }
  NodeId operator[](std::size_t i) const { return order_[i]; }
  bool is_result(std::size_t i) const { return results_.contains(order_[i]); }
  std::size_t last_use(std::size_t i) const { return last_use_[i]; }

  // Indexed by position: the bytes that a cut before it would store. Results are stored anyway.
  std::vector<double> bytes_across() const {
    std::vector<double> change(size() + 2), all(size() + 1);
    for (std::size_t i = 0; i < size(); ++i) {
      if (is_result(i)) continue;
      change[i + 1] += bytes_of(g_.node(order_[i]));
      change[last_use_[i] + 1] -= bytes_of(g_.node(order_[i]));
    }
    for (std::size_t i = 1; i <= size(); ++i) all[i] = all[i - 1] + change[i];
    return all;
  }

 private:
  // A view is part of the kernel that reads it, unless it is stored itself. One of many views in a row is an operation, too.
  bool is_operation(NodeId n) const {
    const graph::Op op = g_.node(n).op;
    return !is_in_memory(g_.node(n)) && !graph::is_leaf(op) && (!graph::is_view(op) || results_.contains(n));
  }
  // A view that is read from memory does not belong to the segment, though what it is a view of may do.
  NodeId without_views(NodeId n) const {
    while (!positions_.contains(n) && !memory_.contains(n) && graph::is_view(g_.node(n).op)) n = g_.node(n).operands[0];
    return n;
  }

  // The functions by which reductions combine elements have no values of their own.
  std::set<NodeId> nodes_of_functions(const Segment& s) const {
    std::set<NodeId> found;
    for (NodeId n : s.nodes)
      if (g_.node(n).combiner.valid())
        for (NodeId x : graph::function_nodes(g_, g_.node(n).combiner)) found.insert(x);
    return found;
  }

  const Graph& g_;
  const std::set<NodeId>& memory_;
  const std::set<NodeId> results_;
  std::map<NodeId, std::size_t> positions_;
  std::vector<NodeId> order_;
  std::vector<std::size_t> weights_, last_use_;
};

}  // namespace

std::size_t operations_of(const Graph& g, const Segment& s) { return Operations(g, s).weight_of_all(); }

std::vector<std::vector<NodeId>> results_of_parts(const Graph& g, const Segment& s, std::size_t most) {
  const Operations operations(g, s);
  if (operations.size() <= 1 || operations.weight_of_all() <= most) return {s.results};
  const std::vector<double> bytes = operations.bytes_across();
  std::vector<std::vector<NodeId>> parts;
  for (std::size_t begin = 0; begin < operations.size();) {
    std::size_t end = begin, half = begin + 1, weight = 0;
    for (; end < operations.size() && (end == begin || weight + operations.weight_of(end) <= most); ++end) {
      weight += operations.weight_of(end);
      if (weight <= most / 2) half = end + 1;
    }
    // Takes the last of the best cuts in the second half: then equal steps give equal parts.
    if (end < operations.size())
      for (std::size_t i = end; i-- > half;)
        if (bytes[i] < bytes[end]) end = i;
    std::vector<NodeId> results;
    for (std::size_t i = begin; i < end; ++i)
      if (operations.is_result(i) || operations.last_use(i) >= end) results.push_back(operations[i]);
    // Tensors that are in memory already, and outputs.
    if (begin == 0)
      std::copy_if(s.results.begin(), s.results.end(), std::back_inserter(results), [&](NodeId n) { return !operations.contains(n); });
    std::sort(results.begin(), results.end());
    if (!results.empty()) parts.push_back(std::move(results));
    begin = end;
  }
  return parts;
}

std::string cut_text(const Graph& g, const SegmentCut& cut, const std::string& why) {
  const Location& where = graph::call_location(g, cut.last);
  return fmt::format("not fused: {} operations up to {} ({}:{}) are derived in {} parts, because {}", cut.operations,
                     graph::display_name(g, cut.last), where.file, where.line, cut.parts, why);
}

std::string stored_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format(
      "not fused: {} ({}:{}) is stored, because it is added to what is computed from all of it, and both must read one number",
      graph::display_name(g, n), where.file, where.line);
}

std::set<NodeId> stored_operands(const Graph& g, NodeId n, const std::set<NodeId>& stored) {
  std::set<NodeId> seen, read;
  const auto parts = [&](NodeId x) { return read.contains(x) ? std::vector<NodeId>() : g.node(x).operands; };
  const auto enter = [&](NodeId x) {
    if (x != n && stored.contains(x)) read.insert(x);
    return seen.insert(x).second;
  };
  visit_operands_first(n, parts, enter, [](NodeId) {});
  return read;
}

}  // namespace tilewright::passes::fusion
