// Finds positions in the order of nodes at which few values are in use.
#include "passes/search/regions/divide.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

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
    find_ranges();
    for (std::size_t i = 0; i < ranges_.size(); ++i) add_regions(i);
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
    users_.resize(order_.size());
    for (std::size_t p = 0; p < order_.size(); ++p) {
      std::vector<NodeId> operands = g_.node(order_[p]).operands;
      std::sort(operands.begin(), operands.end());
      operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
      for (NodeId x : operands) {
        if (!is_computed(x)) continue;
        last_use_[position_[x.index]] = p;
        users_[position_[x.index]].push_back(order_[p]);
      }
    }
    light_.assign(g_.size(), 0);
    for (NodeId n : order_) light_[n.index] = nodes_if_light(n);
  }

  bool is_light(NodeId n) const { return light_[n.index] > 0; }
  std::size_t nodes_if_light(NodeId n) const {
    const Node& node = g_.node(n);
    const bool is_element_wise = node.op == Op::map || graph::is_view(node.op) || node.op == Op::pad || node.op == Op::concat;
    std::size_t count = 1;
    for (NodeId x : node.operands) {
      if (is_computed(x) && !is_light(x)) return 0;
      count += light_[x.index];
    }
    return is_element_wise && count <= kMostLightNodes ? count : 0;
  }

  void add(std::size_t begin, std::size_t end) {
    if (begin == end) return;
    if (end - begin <= most_) return void(ranges_.emplace_back(begin, end));
    const std::vector<int> in_use = values_in_use(begin, end);
    std::vector<std::size_t> ends = find_cuts(begin, end, in_use);
    if (ends.empty()) ends = {halve(begin, end, in_use)};
    for (std::size_t e : ends) add(begin, e), begin = e;
    add(begin, end);
  }

  // By position in a part of the order: heavy values of the part, up to there, that are read after it. What the part reads of others is like
  // an input: the first of equal layers reads an input where the others read the value of a layer, and is divided like them.
  std::vector<int> values_in_use(std::size_t begin, std::size_t end) const {
    std::vector<int> change(end - begin + 1);
    for (std::size_t p = begin; p < end; ++p) {
      if (is_light(order_[p]) || known_[order_[p].index] || last_use_[p] <= p) continue;
      ++change[p - begin];
      --change[std::min(last_use_[p], end) - begin];
    }
    std::partial_sum(change.begin(), change.end(), change.begin());
    return change;
  }

  // Positions at which a part may end: one value is in use there, and it is the value of the last node.
  std::vector<std::size_t> find_cuts(std::size_t begin, std::size_t end, const std::vector<int>& in_use) const {
    std::array<std::vector<std::size_t>, 3> cuts;  // by preference
    for (std::size_t p = begin; p + 1 < end; ++p) {
      if (in_use[p - begin] != 1 || last_use_[p] <= p) continue;
      const Node& n = g_.node(order_[p]);
      if (n.op == Op::map && users_[p].size() > 1)
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

  static std::size_t halve(std::size_t begin, std::size_t end, const std::vector<int>& in_use) {
    const std::size_t quarter = (end - begin) / 4;
    const auto first = in_use.begin() + static_cast<std::ptrdiff_t>(quarter);
    const auto last = in_use.begin() + static_cast<std::ptrdiff_t>(std::min(end - begin - quarter, end - begin - 1));
    return begin + static_cast<std::size_t>(std::min_element(first, last) - in_use.begin()) + 1;
  }

  void find_ranges() {
    range_of_.assign(g_.size(), SIZE_MAX);
    for (std::size_t i = 0; i < ranges_.size(); ++i)
      for (std::size_t p = ranges_[i].first; p < ranges_[i].second; ++p) range_of_[order_[p].index] = i;
  }

  /// Whether a value, such as a mask, is in a region of its own because other regions read it, or all that is computed from it. Then the
  /// region in which it was written is like the others.
  bool is_shared(NodeId n) const {
    if (!is_light(n) || is_output_[n.index]) return false;
    const std::size_t own = range_of_[n.index];
    std::set<std::size_t> readers;
    for (NodeId user : users_[position_[n.index]]) readers.insert(range_of_[user.index]);
    return readers.erase(own) > 0 ? readers.size() > 1 : !readers.empty();
  }

  void add_regions(std::size_t range) {
    const auto [begin, end] = ranges_[range];
    std::set<NodeId> shared;  // with what these are computed from
    for (std::size_t p = end; p-- > begin;) {
      if (!shared.contains(order_[p]) && !is_shared(order_[p])) continue;
      shared.insert(order_[p]);
      for (NodeId x : g_.node(order_[p]).operands)
        if (range_of_[x.index] == range) shared.insert(x);
    }
    std::vector<NodeId> own, rest;
    for (std::size_t p = begin; p < end; ++p) (shared.contains(order_[p]) ? own : rest).push_back(order_[p]);
    if (own.empty() || rest.empty()) return add_region(own.empty() ? rest : own);
    add_region(own);
    add_region(rest);
  }

  void add_region(const std::vector<NodeId>& nodes) {
    const auto is_outside = [&](NodeId user) { return !std::binary_search(nodes.begin(), nodes.end(), user); };
    std::vector<NodeId> results;
    for (NodeId n : nodes)
      if (is_output_[n.index] || std::ranges::any_of(users_[position_[n.index]], is_outside)) results.push_back(n);
    regions_.push_back(make_region(g_, nodes, results, known_));
  }

  const graph::Graph& g_;
  const std::size_t most_;
  const std::vector<bool> known_, needed_;
  std::vector<bool> is_output_;                              // by node
  std::vector<NodeId> order_;                                // the computed nodes
  std::vector<std::size_t> position_;                        // by node: its position in order_
  std::vector<std::size_t> last_use_;                        // by position
  std::vector<std::vector<NodeId>> users_;                   // by position
  std::vector<std::size_t> light_;                           // by node: the nodes of which a light value is made; 0: heavy
  std::vector<std::pair<std::size_t, std::size_t>> ranges_;  // of positions
  std::vector<std::size_t> range_of_;                        // by node
  std::vector<Region> regions_;
};

}  // namespace

std::vector<Region> divide(const graph::Graph& g, std::size_t most_nodes) { return Divider(g, most_nodes).run(); }

}  // namespace tilewright::passes::search
