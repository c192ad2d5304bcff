// Passes the axes along which sums vary from operands to users, and the reductions that walk them from users to operands.
#include "passes/fusion/segments/walked_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "passes/fusion/expr/extents.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/function_name.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

class WalkedSums {
 public:
  WalkedSums(const Graph& g, const ProductReuse& reuse, const std::vector<bool>& is_needed, const std::vector<bool>& is_stored)
      : g_(g),
        reuse_(reuse),
        is_needed_(is_needed),
        is_stored_(is_stored),
        read_(g.size()),
        varies_(g.size()),
        walkers_(g.size()),
        has_many_programs_(g.size()) {}

  std::vector<NodeId> run() {
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      if (!is_needed_[i]) continue;
      read_[i] = elements_read({i});
      varies_[i] = axes_of_sums({i});
    }
    std::vector<NodeId> found;
    std::vector<std::size_t> handed_on(g_.size());  // for each node: the walkers of one value of the same size that is computed from it
    for (std::uint32_t i = static_cast<std::uint32_t>(g_.size()); i-- > 0;) {
      const Node& n = g_.node({i});
      if (!is_needed_[i]) continue;
      const bool is_walked = walkers_[i].size() > std::max<std::size_t>(handed_on[i], 1) &&
                             std::ranges::any_of(walkers_[i], [&](NodeId walker) { return has_many_programs_[walker.index]; });
      if (has_sums({i}) && is_walked && !graph::is_view(n.op) && !is_stored_[i]) found.push_back({i});
      for (NodeId x : n.operands) {
        if (!has_sums(x)) continue;
        if (walks(n, x)) {
          add(x, {i});
          has_many_programs_[i] = has_many_programs_[i] || has_many_programs(n, x);
        }
        if (!is_elementwise(n) || !has_as_many(n, x)) continue;
        for (NodeId walker : walkers_[i]) add(x, walker);
        handed_on[x.index] = std::max(handed_on[x.index], walkers_[i].size());
      }
    }
    return without_common_sums(found);
  }

 private:
  // Values that contain the same sum would each compute it: the sum is stored in place of them.
  std::vector<NodeId> without_common_sums(const std::vector<NodeId>& found) const {
    std::map<NodeId, std::vector<NodeId>> holders;  // by the sum
    for (NodeId n : found)
      for (NodeId sum : sums_in(n)) holders[sum].push_back(n);
    std::set<NodeId> stored(found.begin(), found.end());
    for (const auto& [sum, values] : holders)
      if (values.size() > 1)
        for (NodeId n : values) stored.erase(n);
    for (const auto& [sum, values] : holders)
      if (values.size() > 1) stored.insert(sum);
    return {stored.begin(), stored.end()};
  }

  // The sums from which a value is computed element by element.
  std::set<NodeId> sums_in(NodeId value) const {
    std::set<NodeId> seen, sums;
    std::vector<NodeId> todo{value};
    while (!todo.empty() && seen.size() < kMostStepsOfReuse) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (!has_sums(n) || !seen.insert(n).second) continue;
      if (is_elementwise(g_.node(n)))
        todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
      else
        sums.insert(n);
    }
    return sums;
  }

  static bool is_elementwise(const Node& n) { return n.op == Op::map || n.op == Op::broadcast; }
  // What sums are broadcast to is larger, and is not stored.
  bool has_as_many(const Node& n, NodeId x) const { return graph::element_count(g_.node(x).shape) == graph::element_count(n.shape); }
  bool has_sums(NodeId n) const { return std::ranges::find(varies_[n.index], true) != varies_[n.index].end(); }

  // Whether a product of an operand, or an index of it, varies along so many positions of other axes that no program holds them all: each
  // program walks the operand anew. One program holds a row of the result of attention, and walks its scores once for all reductions.
  bool has_many_programs(const Node& n, NodeId operand) const {
    if (n.op != Op::einsum) return n.op != Op::reduce;
    const std::string_view equation = n.text, result = equation.substr(equation.find("->") + 2);
    std::size_t first = 0;
    for (NodeId x : n.operands) {
      const std::string_view own = equation.substr(first, g_.node(x).shape.size());
      double others = 1;
      for (std::size_t a = 0; a < result.size(); ++a)
        if (own.find(result[a]) == own.npos) others *= estimated_extent(n.shape[a]);
      if (x == operand && others > kMostStoredPayload) return true;
      first = equation.find(',', first) + 1;
    }
    return false;
  }

  void add(NodeId n, NodeId walker) {
    std::vector<NodeId>& all = walkers_[n.index];
    if (all.size() < kMostWalkers && std::ranges::find(all, walker) == all.end()) all.push_back(walker);
  }

  // The axes of a node along which sums vary that are computed after the last stored values.
  std::vector<bool> axes_of_sums(NodeId id) const {
    const Node& n = g_.node(id);
    std::vector<bool> axes(n.shape.size());
    if (is_stored_[id.index] || reuse_.holds_products(id)) return axes;
    if (n.op == Op::reduce || n.op == Op::einsum) {
      if (combines_many(n))
        for (std::size_t a = 0; a < axes.size(); ++a) axes[a] = !(n.shape[a] == Dim(1));
      return axes;
    }
    if (!is_elementwise(n)) return axes;
    for (NodeId x : n.operands)
      for (std::size_t a = 0; a < varies_[x.index].size(); ++a)
        if (varies_[x.index][a] && has_as_many(n, x)) axes[a + axes.size() - varies_[x.index].size()] = true;
    return axes;
  }

  // The elements of the largest tensor that is read for a value. A product of two broadcast tensors, as of queries and keys, has many more
  // elements than these: its sums take longer to store than to compute in one loop with what walks them.
  double elements_read(NodeId id) const {
    const Node& n = g_.node(id);
    if (!is_elementwise(n) && !graph::is_view(n.op)) return estimated_elements(n.shape);
    double most = 0;
    for (NodeId x : n.operands) most = std::max(most, read_[x.index]);
    return std::min(most, estimated_elements(n.shape));
  }

  bool combines_many(const Node& n) const {
    return std::ranges::any_of(n.operands, [&](NodeId x) { return read_[x.index] >= kLeastCombined * estimated_elements(n.shape); });
  }

  // Whether a reduction combines elements along an axis along which sums of the operand vary, or an index reads them.
  bool walks(const Node& n, NodeId operand) const {
    const std::vector<bool>& varies = varies_[operand.index];
    if (n.op == Op::reduce) return std::ranges::any_of(n.axes, [&](int a) { return varies[static_cast<std::size_t>(a)]; });
    if (n.op == Op::gather || n.op == Op::take_along) return n.operands[0] == operand && varies[static_cast<std::size_t>(n.axes[0])];
    if (n.op != Op::einsum) return false;
    const std::string_view equation = n.text, result = equation.substr(equation.find("->") + 2);
    std::size_t label = 0;
    for (NodeId x : n.operands) {
      for (std::size_t a = 0; a < varies.size(); ++a)
        if (x == operand && varies[a] && result.find(equation[label + a]) == result.npos) return true;
      label = equation.find(',', label) + 1;
    }
    return false;
  }

  const Graph& g_;
  const ProductReuse& reuse_;
  const std::vector<bool>&is_needed_, &is_stored_;
  std::vector<double> read_;  // the elements of the largest tensor that is read for each node
  std::vector<std::vector<bool>> varies_;
  std::vector<std::vector<NodeId>> walkers_;  // the reductions that walk sums in each node, at most kMostWalkers
  std::vector<bool> has_many_programs_;       // by the reduction
};

}  // namespace

std::vector<NodeId> walked_sums(const Graph& g, const ProductReuse& reuse, const std::vector<bool>& is_needed,
                                const std::vector<bool>& is_stored) {
  return WalkedSums(g, reuse, is_needed, is_stored).run();
}

std::string walked_text(const Graph& g, NodeId n) {
  const Location& where = graph::call_location(g, n);
  return fmt::format("not fused: {} ({}:{}) is stored, because several reductions would each compute the sums in it again",
                     graph::display_name(g, n), where.file, where.line);
}

}  // namespace tilewright::passes::fusion
