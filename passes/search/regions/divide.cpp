// Finds positions in the order of nodes at which few values are in use.
#include "passes/search/regions/divide.h"

#include <algorithm>
#include <array>

#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::search {
namespace {

using graph::Node;
using graph::NodeId;
using graph::Op;
using ir::OpKind;

bool is_linear(OpKind f) { return f == OpKind::add_ || f == OpKind::sub_ || f == OpKind::mul_ || f == OpKind::neg_; }

class Divider {
 public:
  Divider(const graph::Graph& g, std::size_t most)
      : g_(g), most_(most), known_(known_before_run(g)), needed_(g.needed_nodes()), is_output_(g.size()) {
    for (const graph::Output& o : g.outputs()) is_output_[o.node.index] = true;
  }

  std::vector<Region> run() {
    find_order();
    find_uses();
    for (std::size_t begin = 0; begin < order_.size();) {
      std::size_t end = begin;
      while (end < order_.size() && g_.node(order_[end]).op != Op::call) ++end;
      add(begin, end);
      begin = end + 1;
    }
    return std::move(regions_);
  }

 private:
  bool is_computed(NodeId n) const { return position_[n.index] < order_.size(); }

  void find_order() {
    position_.assign(g_.size(), SIZE_MAX);
    for (std::uint32_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i] || graph::is_leaf(g_.node({i}).op)) continue;
      position_[i] = order_.size();
      order_.push_back({i});
    }
  }

  void find_uses() {
    last_use_.assign(order_.size(), 0);
    users_.assign(order_.size(), 0);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      std::vector<NodeId> operands = g_.node(order_[p]).operands;
      std::sort(operands.begin(), operands.end());
      operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
      for (NodeId x : operands) {
        if (!is_computed(x)) continue;
        last_use_[position_[x.index]] = p;
        ++users_[position_[x.index]];
      }
    }
    // in_use_[p]: heavy values of positions up to p that are read after it.
    std::vector<std::size_t> light(g_.size());  // nodes of which a light value is made; 0: heavy
    std::vector<int> change(order_.size() + 1);
    for (std::size_t p = 0; p < order_.size(); ++p) {
      const NodeId n = order_[p];
      light[n.index] = nodes_if_light(n, light);
      if (light[n.index] > 0 || known_[n.index] || last_use_[p] <= p) continue;
      ++change[p];
      --change[last_use_[p]];
    }
    int in_use = 0;
    for (std::size_t p = 0; p < order_.size(); ++p) in_use_.push_back(in_use += change[p]);
  }

  std::size_t nodes_if_light(NodeId n, const std::vector<std::size_t>& light) const {
    const Node& node = g_.node(n);
    const bool is_element_wise = node.op == Op::map || graph::is_view(node.op) || node.op == Op::pad || node.op == Op::concat;
    std::size_t count = 1;
    for (NodeId x : node.operands) {
      if (is_computed(x) && light[x.index] == 0) return 0;
      count += light[x.index];
    }
    return is_element_wise && count <= kMostLightNodes ? count : 0;
  }

  void add(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    if (end - begin <= most_) return add_region(begin, end);
    std::vector<std::size_t> ends = find_cuts(begin, end);
    if (ends.empty()) ends = {halve(begin, end)};
    for (std::size_t e : ends) add(begin, e), begin = e;
    add(begin, end);
  }

  // Positions at which a part may end: one value is in use there, and it is the value of the last node.
  std::vector<std::size_t> find_cuts(std::size_t begin, std::size_t end) const {
    std::array<std::vector<std::size_t>, 3> cuts;  // by preference
    for (std::size_t p = begin; p + 1 < end; ++p) {
      if (in_use_[p] != 1 || last_use_[p] <= p) continue;
      const Node& n = g_.node(order_[p]);
      if (n.op == Op::map && users_[p] > 1)
        cuts[0].push_back(p + 1);
      else if (n.op == Op::map && !is_linear(n.function))
        cuts[1].push_back(p + 1);
      else
        cuts[2].push_back(p + 1);
    }
    for (std::size_t i = 0; i < 2; ++i)
      if (!cuts[i].empty()) return std::move(cuts[i]);
    // Rules go through all other values, such as each product of a chain. So only one of them, in the middle, is a cut.
    const std::size_t middle = begin + (end - begin) / 2;
    const auto is_nearer = [&](std::size_t a, std::size_t b) {
      return std::max(a, middle) - std::min(a, middle) < std::max(b, middle) - std::min(b, middle);
    };
    const auto nearest = std::min_element(cuts[2].begin(), cuts[2].end(), is_nearer);
    return nearest == cuts[2].end() ? std::vector<std::size_t>() : std::vector{*nearest};
  }

  std::size_t halve(std::size_t begin, std::size_t end) const {
    const std::size_t quarter = (end - begin) / 4;
    const auto first = in_use_.begin() + static_cast<std::ptrdiff_t>(begin + quarter);
    const auto last = in_use_.begin() + static_cast<std::ptrdiff_t>(std::min(end - quarter, end - 1));
    return static_cast<std::size_t>(std::min_element(first, last) - in_use_.begin()) + 1;
  }

  void add_region(std::size_t begin, std::size_t end) {
    const std::vector<NodeId> nodes(order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.begin() + static_cast<std::ptrdiff_t>(end));
    std::vector<NodeId> results;
    for (std::size_t p = begin; p < end; ++p) {
      if (is_output_[order_[p].index] || last_use_[p] >= end) results.push_back(order_[p]);
    }
    regions_.push_back(make_region(g_, nodes, results, known_));
  }

  const graph::Graph& g_;
  const std::size_t most_;
  const std::vector<bool> known_, needed_;
  std::vector<bool> is_output_;                // by node
  std::vector<NodeId> order_;                  // the computed nodes
  std::vector<std::size_t> position_;          // by node: its position in order_
  std::vector<std::size_t> last_use_, users_;  // by position
  std::vector<int> in_use_;                    // by position
  std::vector<Region> regions_;
};

}  // namespace

std::vector<Region> divide(const graph::Graph& g, std::size_t most_nodes) { return Divider(g, most_nodes).run(); }

}  // namespace tilewright::passes::search
