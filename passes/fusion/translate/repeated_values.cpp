// Walks from the operands of each sum to values that are used at two positions.
#include "passes/fusion/translate/repeated_values.h"

#include <algorithm>
#include <map>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/normal_form.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;

// The reductions in a formula that are not inside of another one.
std::set<ExprKey> outermost_reductions(Expr formula) {
  std::set<ExprKey> found;
  ExprSet seen;
  const auto visit = [&](Expr e) {
    if (e->is(ExprKind::reduce)) found.insert(e->key);
    return !e->is(ExprKind::reduce);
  };
  walk_inwards(formula, seen, [](Expr e) { return e->holds(ExprKind::reduce); }, visit);
  return found;
}

bool is_sum(const Node& n) {
  return n.op == Op::map && ir::is_float(n.element) &&
         (n.function == ir::OpKind::add_ || n.function == ir::OpKind::sub_ || n.function == ir::OpKind::fma_);
}

// Walks over positions in the list of values, since a node has a value for each position at which it is used.
class Finder {
 public:
  Finder(const graph::Graph& g, const std::vector<TranslatedValue>& values) : g_(g), values_(values), differs_(values.size()) {
    std::map<NodeId, std::vector<std::size_t>> by_node;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i].has_all_elements && values[i].value->holds(ExprKind::reduce) && !graph::is_view(g.node(values[i].node).op))
        by_node[values[i].node].push_back(i);
    for (const auto& [node, positions] : by_node) {
      if (positions.size() < 2) continue;
      std::map<std::set<ExprKey>, std::vector<std::size_t>> by_reductions;
      for (std::size_t i : positions) by_reductions[outermost_reductions(values[i].value)].push_back(i);
      for (const auto& [key, own] : by_reductions)
        for (const auto& [other_key, others] : by_reductions)
          if (key != other_key)
            for (std::size_t i : own) differs_[i].insert(differs_[i].end(), others.begin(), others.end());
    }
    has_any_ = std::any_of(differs_.begin(), differs_.end(), [](const auto& others) { return !others.empty(); });
  }

  std::set<NodeId> run() {
    if (!has_any_) return {};
    for (const TranslatedValue& sum : values_) {
      if (!is_sum(g_.node(sum.node))) continue;
      for (std::size_t direct : sum.operands)
        for (std::size_t other : sum.operands)
          if (direct != other) find_direct(direct, reached_from(other));
    }
    return std::move(found_);
  }

 private:
  std::vector<bool> reached_from(std::size_t from) const {
    std::vector<bool> reached(values_.size());
    std::vector<std::size_t> todo{from};
    while (!todo.empty()) {
      const std::size_t i = todo.back();
      todo.pop_back();
      if (reached[i]) continue;
      reached[i] = true;
      todo.insert(todo.end(), values_[i].operands.begin(), values_[i].operands.end());
    }
    return reached;
  }

  // Finds the nearest values that the sum uses element by element and that the other operand uses at other positions.
  void find_direct(std::size_t from, const std::vector<bool>& reached) {
    std::set<std::size_t> seen;
    std::vector<std::size_t> todo{from};
    while (!todo.empty()) {
      const std::size_t i = todo.back();
      todo.pop_back();
      if (!seen.insert(i).second) continue;
      const Node& n = g_.node(values_[i].node);
      if (std::any_of(differs_[i].begin(), differs_[i].end(), [&](std::size_t other) { return reached[other]; }))
        found_.insert(values_[i].node);
      else if (n.op == Op::map || graph::is_view(n.op))
        todo.insert(todo.end(), values_[i].operands.begin(), values_[i].operands.end());
    }
  }

  const graph::Graph& g_;
  const std::vector<TranslatedValue>& values_;
  std::vector<std::vector<std::size_t>> differs_;  // indexed by value: the values of the same node with other reductions
  bool has_any_ = false;
  std::set<NodeId> found_;
};

}  // namespace

std::set<NodeId> values_in_two_orders(const graph::Graph& g, const std::vector<TranslatedValue>& values) { return Finder(g, values).run(); }

}  // namespace tilewright::passes::fusion
