// Finds the values that are stored, assigns nodes to segments and describes the structure of each.
#include "passes/fusion/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <functional>
#include <map>

#include "passes/fusion/parameters.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

bool is_in_memory(const Node& n) { return n.op == Op::scalar || has_own_memory(n); }

// Whether operands that lack different labels of the result are contracted.
bool is_product(const Node& n) {
  if (n.op != Op::einsum) return false;
  const std::size_t arrow = n.text.find("->");
  const std::string result = n.text.substr(arrow + 2);
  std::vector<std::string> operands(1);
  for (char c : n.text.substr(0, arrow)) {
    if (c == ',')
      operands.emplace_back();
    else
      operands.back() += c;
  }
  const auto lacks = [&](const std::string& a, const std::string& b) {
    return std::any_of(result.begin(), result.end(), [&](char c) { return a.find(c) == a.npos && b.find(c) != b.npos; });
  };
  for (const std::string& a : operands)
    for (const std::string& b : operands)
      if (lacks(a, b) && lacks(b, a)) return true;
  return false;
}

Dim elements(const graph::TensorShape& shape) {
  Dim product = 1;
  for (const Dim& d : shape) product = product * d;
  return product;
}

class Divider {
 public:
  explicit Divider(const Graph& g)
      : g_(g), known_(g), needed_(g.needed_nodes()), is_product_(g.size()), is_cut_(g.size()), depth_(g.size()), level_(g.size()) {
    for (std::size_t i = 0; i < g.size(); ++i) is_product_[i] = is_product(g.node(id(i)));
  }

  std::vector<Segment> run() {
    find_cuts();
    delay();
    std::map<int, std::set<NodeId>> results;
    for (const graph::Output& o : g_.outputs()) results[level_[o.node.index]].insert(o.node);
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      if (is_cut_[i]) results[level_[i]].insert(id(i));
      // What is expensive and needed by a later segment is stored as well.
      for (NodeId x : g_.node(id(i)).operands)
        if (level_[x.index] < level_[i] && depth_[x.index] > 0) results[level_[x.index]].insert(x);
    }
    std::vector<Segment> all;
    std::set<NodeId> memory;
    for (const auto& [level, nodes] : results) {
      for (const std::vector<NodeId>& part : components({nodes.begin(), nodes.end()}, memory)) {
        Segment s;
        s.results = part;
        s.memory = memory;
        describe(s);
        all.push_back(std::move(s));
      }
      memory.insert(nodes.begin(), nodes.end());
    }
    find_ahead(all);
    return all;
  }

 private:
  static NodeId id(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }

  // ---- values that are stored ----

  // Nodes with kernels of their own are cut, and so is what these read.
  void find_own_kernels() {
    std::vector<bool> is_computed(g_.size());  // other than element by element
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(id(i));
      is_computed[i] = n.op == Op::reduce || n.op == Op::scan || n.op == Op::einsum;
      for (NodeId x : n.operands) is_computed[i] = is_computed[i] || (is_computed[x.index] && !is_cut_[x.index]);
      if (!needed_[i] || !has_own_kernels(n.op)) continue;
      is_cut_[i] = true;
      for (NodeId x : n.operands)
        if (!has_own_memory(g_.node(x)) && (n.op == Op::call || is_computed[x.index])) is_cut_[x.index] = true;
    }
  }

  void find_cuts() {
    find_own_kernels();
    std::vector<bool> is_candidate(g_.size());
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::map)
        if (const NodeId n = needed_again(id(i)); n.valid()) is_candidate[n.index] = true;
    // Products that need each other, in one segment.
    constexpr int kMostDepth = 4;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      depth_[i] = depth(id(i));
      is_cut_[i] = is_cut_[i] || (is_candidate[i] && depth_[i] > 0);
      if (depth_[i] <= kMostDepth) continue;
      for (NodeId x : g_.node(id(i)).operands)
        if (depth_[x.index] == kMostDepth && !is_cut_[x.index]) is_cut_[bottleneck(x).index] = true;
      for (std::size_t k = 0; k <= i; ++k) depth_[k] = depth(id(k));
    }
    for (std::size_t i = 0; i < g_.size(); ++i)
      for (NodeId x : g_.node(id(i)).operands) level_[i] = std::max(level_[i], level_[x.index] + (is_cut_[x.index] ? 1 : 0));
  }

  // The greatest number of products on a way to the node, from the values that are stored.
  int depth(NodeId n) const {
    int most = 0;
    for (NodeId x : g_.node(n).operands)
      if (!is_cut_[x.index]) most = std::max(most, depth_[x.index]);
    return most + (is_product_[n.index] ? 1 : 0);
  }

  // The last value through which all products inside of `sink` go before a reduction of them; `sink` if there is none.
  NodeId bottleneck(NodeId sink) const {
    std::set<NodeId> region;
    std::vector<std::pair<NodeId, NodeId>> edges;
    const std::function<void(NodeId)> visit = [&](NodeId n) {
      if (!region.insert(n).second || is_product_[n.index]) return;
      for (NodeId x : g_.node(n).operands)
        if (depth_[x.index] > 0 && !is_cut_[x.index]) edges.emplace_back(x, n), visit(x);
    };
    visit(sink);
    NodeId found = sink;
    for (NodeId n : region) {
      const bool is_passed = std::any_of(edges.begin(), edges.end(), [&](const auto& e) { return e.first < n && n < e.second; });
      const bool has_all = std::none_of(region.begin(), region.end(), [&](NodeId x) { return n < x && is_product_[x.index]; });
      if (g_.node(n).op == Op::reduce) break;
      if (!is_passed && has_all) found = n;
    }
    return found;
  }

  // A value that only later segments need is computed there.
  void delay() {
    std::vector<int> latest(g_.size(), INT_MAX);
    for (const graph::Output& o : g_.outputs()) latest[o.node.index] = level_[o.node.index];
    for (std::size_t i = g_.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      // The results of one call are one kernel's.
      if (!has_own_kernels(g_.node(id(i)).op)) level_[i] = std::max(level_[i], latest[i]);
      for (NodeId x : g_.node(id(i)).operands) latest[x.index] = std::min(latest[x.index], level_[i] - (is_cut_[x.index] ? 1 : 0));
    }
  }

  // The value that `join` takes element by element beside a product of the same value.
  NodeId needed_again(NodeId join) const {
    const Node& n = g_.node(join);
    for (std::size_t i = 0; i < n.operands.size(); ++i)
      for (std::size_t k = 0; k < n.operands.size(); ++k) {
        if (i == k) continue;
        constexpr int kFarthest = 6;
        if (const NodeId a = needed_again(n.operands[i], n.operands[k], elements(n.shape), kFarthest); a.valid()) return a;
      }
    return {};
  }

  NodeId needed_again(NodeId a, NodeId other, const Dim& count, int farthest) const {
    while (graph::is_view(g_.node(a).op)) a = g_.node(a).operands[0];
    const Node& n = g_.node(a);
    if (graph::is_leaf(n.op) || elements(n.shape) != count) return {};
    if (depends_by_product(other, a)) return a;
    if (n.op != Op::map || farthest == 0) return {};
    for (NodeId x : n.operands)
      if (const NodeId found = needed_again(x, other, count, farthest - 1); found.valid()) return found;
    return {};
  }

  bool depends_by_product(NodeId from, NodeId on) const {
    std::set<std::pair<NodeId, bool>> seen;
    const std::function<bool(NodeId, bool)> visit = [&](NodeId n, bool has_product) {
      if (n == on) return has_product;
      if (n < on || !seen.insert({n, has_product}).second) return false;
      const bool below = has_product || is_product_[n.index];
      const auto& operands = g_.node(n).operands;
      return std::any_of(operands.begin(), operands.end(), [&](NodeId x) { return visit(x, below); });
    };
    return visit(from, false);
  }

  // ---- segments ----

  // Results that read a common tensor are one segment.
  std::vector<std::vector<NodeId>> components(const std::vector<NodeId>& results, const std::set<NodeId>& memory) const {
    std::map<NodeId, std::size_t> owner;  // of nodes: the result that reached it first
    std::vector<std::size_t> group(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      group[i] = i;
      if (has_own_kernels(g_.node(results[i]).op)) continue;
      const std::function<void(NodeId)> visit = [&](NodeId n) {
        const bool is_read = memory.count(n) != 0 || (is_in_memory(g_.node(n)) && g_.node(n).op != Op::scalar);
        if (graph::is_leaf(g_.node(n).op) && !is_read) return;
        const auto [at, is_new] = owner.emplace(n, i);
        if (!is_new) {
          const std::size_t from = group[i], to = group[at->second];
          std::replace(group.begin(), group.end(), from, to);
          return;
        }
        if (!is_read)
          for (NodeId x : g_.node(n).operands) visit(x);
      };
      visit(results[i]);
    }
    for (std::size_t i = 0; i < results.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        const Node &one = g_.node(results[k]), &other = g_.node(results[i]);
        if (other.op == Op::call && other.kernel == one.kernel) group[i] = group[k];
      }
    std::map<std::size_t, std::vector<NodeId>> parts;
    for (std::size_t i = 0; i < results.size(); ++i) parts[group[i]].push_back(results[i]);
    std::vector<std::vector<NodeId>> all;
    for (auto& [first, nodes] : parts) all.push_back(std::move(nodes));
    return all;
  }

  void find_ahead(std::vector<Segment>& all) const {
    std::set<NodeId> read;
    for (const Segment& s : all)
      for (NodeId n : s.nodes)
        if (s.memory.contains(n)) read.insert(n);
    for (Segment& s : all)
      for (std::size_t i = 0; i < s.nodes.size(); ++i)
        if (const NodeId n = s.nodes[i];
            known_.is_known(n) && read.contains(n) && std::binary_search(s.results.begin(), s.results.end(), n)) {
          s.ahead.push_back(n);
          s.structure += fmt::format("ahead {}\n", i);
        }
  }

  void describe(Segment& s) const {
    std::map<NodeId, std::size_t> numbers;
    const std::function<std::size_t(NodeId)> number = [&](NodeId n) {
      if (const auto known = numbers.find(n); known != numbers.end()) return known->second;
      const Node& node = g_.node(n);
      std::string line;
      if (s.memory.count(n) != 0 || is_in_memory(node)) {
        line = fmt::format("memory {} {} {}", node.op == Op::scalar, known_.is_known(n), static_cast<int>(node.element));
        line += dims_text(node.shape) + (node.op == Op::input && !node.lengths.empty() ? dims_text(node.lengths) : "");
      } else {
        std::string operands;
        for (NodeId x : node.operands) operands += fmt::format(" {}", number(x));
        line = node_text(node) + operands;
        if (node.combiner.valid()) line += fmt::format(" by {}", number(node.combiner));
      }
      s.structure += line + "\n";
      s.nodes.push_back(n);
      return numbers[n] = s.nodes.size() - 1;
    };
    for (NodeId n : s.results) s.structure += fmt::format("result {}\n", number(n));
    for (NodeId n : s.results) {
      const auto& outputs = g_.outputs();
      const auto times = std::count_if(outputs.begin(), outputs.end(), [&](const graph::Output& o) { return o.node == n; });
      if (times > 1) s.structure += fmt::format("result {} is {} outputs\n", numbers.at(n), times);
    }
  }

  static std::string dims_text(const std::vector<Dim>& dims) {
    std::string text = " [";
    for (const Dim& d : dims) text += d.text() + ",";
    return text + "]";
  }

  // All that decides what a node computes from its operands.
  static std::string node_text(const Node& n) {
    std::string text =
        fmt::format("{} {} {} {} {}{} {} {} {} {}", static_cast<int>(n.op), static_cast<int>(n.element), static_cast<int>(n.function),
                    static_cast<int>(n.kind), n.keep_dims, n.reverse, static_cast<int>(n.precision), n.position, n.text, n.seed);
    for (int a : n.axes) text += fmt::format(" {}", a);
    text += dims_text(n.shape) + dims_text(n.lengths);
    if (n.data) text += fmt::format(" {:x}", n.data->bits[0]);
    if (n.identity) text += fmt::format(" {:x}", *n.identity);
    if (n.kernel) text += fmt::format(" {}", static_cast<const void*>(n.kernel.get()));
    return text;
  }

  const Graph& g_;
  const KnownNodes known_;
  const std::vector<bool> needed_;
  std::vector<bool> is_product_, is_cut_;
  std::vector<int> depth_, level_;
};

}  // namespace

bool has_own_memory(const Node& n) { return n.op == Op::input || (n.op == Op::constant && n.data->bits.size() > 1); }

bool has_own_kernels(Op op) { return op == Op::scatter_add || op == Op::call; }

std::vector<Segment> divide(const Graph& g) { return Divider(g).run(); }

}  // namespace tilewright::passes::fusion
