// Finds the values that are stored, assigns nodes to segments, and describes the structure of each segment.
#include "passes/fusion/graph/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <numeric>

#include "passes/fusion/graph/carried_values.h"
#include "passes/fusion/graph/concat_pieces.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/recurring_values.h"
#include "passes/fusion/graph/segment_parts.h"
#include "passes/fusion/graph/segment_structure.h"
#include "passes/fusion/graph/shifted_reads.h"
#include "passes/fusion/graph_walk.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"
#include "tileir/graph/neutral.h"
#include "tileir/graph/shapes.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

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

class SegmentBuilder {
 public:
  SegmentBuilder(const Graph& g, std::size_t most_operations, bool is_host)
      : g_(g),
        most_operations_(most_operations),
        is_host_(is_host),
        known_(g),
        structure_(g, known_),
        needed_(g.needed_nodes()),
        is_product_(g.size()),
        is_cut_(g.size()),
        is_computed_(g.size()),
        is_in_parts_(g.size()),
        has_scan_(g.size()),
        has_cut_pieces_(g.size()),
        uses_(g.size()),
        is_stored_(g.size()),
        depth_(g.size()),
        level_(g.size()),
        products_(g.size()),
        users_(g.size()),
        visited_(g.size()) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      is_product_[i] = is_product(g.node(id(i)));
      for (NodeId x : g.node(id(i)).operands) {
        products_[i] = std::max(products_[i], products_[x.index]);
        if (needed_[i]) users_[x.index].push_back(id(i));
      }
      products_[i] += is_product_[i] ? 1 : 0;
    }
    for (std::size_t i = 0; i < g.size(); ++i) uses_[i] = users_[i].size();
    for (const graph::Output& o : g.outputs()) ++uses_[o.node.index];
  }

  std::vector<Segment> run() {
    find_cuts();
    delay();
    std::map<int, std::set<NodeId>> results;
    for (const graph::Output& o : g_.outputs()) results[level_[o.node.index]].insert(o.node);
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      if (is_cut_[i]) results[level_[i]].insert(id(i));
      // An expensive value that a later segment needs is stored as well.
      for (NodeId x : g_.node(id(i)).operands)
        if (level_[x.index] < level_[i] && (depth_[x.index] > 0 || has_scan_[x.index])) results[level_[x.index]].insert(x);
    }
    carried_ = carried_values(g_, known_, needed_, is_cut_, level_);
    for (NodeId n : carried_) results[level_[n.index]].insert(n);
    std::vector<Segment> all;
    for (auto& [level, nodes] : results) {
      // A value that an earlier part stores is not a result a second time.
      std::erase_if(nodes, [&](NodeId n) { return is_stored_[n.index]; });
      for (std::vector<NodeId>& part : components({nodes.begin(), nodes.end()})) add_segments(std::move(part), all);
    }
    find_ahead(all);
    return all;
  }

 private:
  static NodeId id(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }

  // Whether a node is a segment of its own, or several segments.
  bool is_apart(NodeId n) const { return has_own_kernels(g_.node(n).op) || is_in_parts(n); }
  bool is_in_parts(NodeId n) const { return is_in_parts_[n.index]; }

  // ---- values that are stored ----

  // Nodes with kernels of their own are cut off, and so are the values that they read. But an operand of a concatenation that nothing else
  // needs is computed by the kernel that writes it at its position. An index of take_along may depend on the position along which its operand
  // is scanned: the elements that are picked are those of many scans.
  void find_own_kernels() {
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(id(i));
      if (n.op == Op::take_along && needed_[i] && has_scan_[n.operands[0].index]) is_cut_[n.operands[0].index] = true;
      if (n.op == Op::scan && needed_[i]) cut_scans_in(n.operands[0]);
      has_scan_[i] = n.op == Op::scan;
      for (NodeId x : n.operands) has_scan_[i] = has_scan_[i] || (has_scan_[x.index] && !is_cut_[x.index]);
      is_computed_[i] = n.op == Op::reduce || n.op == Op::scan || n.op == Op::einsum;
      for (NodeId x : n.operands) is_computed_[i] = is_computed_[i] || (is_computed_[x.index] && !is_cut_[x.index]);
      is_in_parts_[i] = is_written_in_parts(g_, n, is_host_);
      if (!needed_[i] || !is_apart(id(i))) continue;
      is_cut_[i] = true;
      const auto is_part = [&](NodeId x) { return n.op == Op::concat && is_needed_once(g_, x, uses_, is_computed_); };
      for (NodeId x : n.operands)
        if (!has_own_memory(g_.node(x)) && (n.op == Op::call || is_computed_[x.index]) && !is_part(x)) is_cut_[x.index] = true;
    }
  }

  // No loop computes a scan inside of a scan: the inner one is stored, whatever is fused, and all that need it read it.
  void cut_scans_in(NodeId scanned) {
    std::vector<NodeId> todo{scanned};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (is_cut_[n.index] || !has_scan_[n.index]) continue;
      has_scan_[n.index] = false;
      if (g_.node(n).op == Op::scan)
        is_cut_[n.index] = true;
      else
        todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
    }
  }

  // Operands of a concatenation are needed again if another operand is a product of them, as in a dense block, concat(x, f(x W)): each later
  // product would compute the products before it again. What is stored are the pieces that hold products, and not the concatenation, of which
  // each layer would copy all pieces so far.
  void cut_pieces_needed_again(NodeId whole) {
    const std::vector<NodeId>& operands = g_.node(whole).operands;
    if (operands.size() > kMostJoined) return;  // written operand by operand
    for (NodeId a : operands)
      if (std::ranges::any_of(operands, [&](NodeId other) { return other != a && depends_by_product(other, a); })) cut_pieces(a);
  }

  void cut_pieces(NodeId operand) {
    std::vector<NodeId> todo{operand};
    while (!todo.empty()) {
      NodeId n = todo.back();
      todo.pop_back();
      while (graph::is_view(g_.node(n).op) && !is_cut_[n.index]) n = g_.node(n).operands[0];
      if (is_cut_[n.index] || graph::is_leaf(g_.node(n).op)) continue;
      if (g_.node(n).op != Op::concat) {
        is_cut_[n.index] = holds_product(n);
        continue;
      }
      if (!has_cut_pieces_[n.index]) todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
      has_cut_pieces_[n.index] = true;
    }
  }

  // Whether a product is computed after the last stored values; true for a value that takes many steps.
  bool holds_product(NodeId value) const {
    if (products_[value.index] == 0) return false;
    std::set<NodeId> seen;
    std::vector<NodeId> todo{value};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (is_cut_[n.index] || products_[n.index] == 0 || !seen.insert(n).second) continue;
      if (is_product_[n.index] || seen.size() > kMostStepsOfPiece) return true;
      todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
    }
    return false;
  }

  // Whether a concatenation in place is too large for one segment, and nothing is computed twice if each operand has one of its own.
  bool is_large(NodeId whole) const {
    const std::vector<NodeId>& operands = g_.node(whole).operands;
    const auto is_apart = [&](NodeId x) {
      return g_.node(x).op != Op::concat && (!is_computed_[x.index] || is_needed_once(g_, x, uses_, is_computed_));
    };
    if (!std::all_of(operands.begin(), operands.end(), is_apart)) return false;
    Segment all;
    all.results = {whole};
    structure_.describe(all, [&](NodeId n) { return static_cast<bool>(is_cut_[n.index]); });
    return operations_of(g_, all) > most_operations_;
  }

  void find_cuts() {
    find_own_kernels();
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::materialize) is_cut_[i] = true;
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::concat) cut_pieces_needed_again(id(i));
    for (NodeId n : concatenations_in_place(g_, known_, needed_, is_cut_)) {
      is_in_parts_[n.index] = is_large(n);
      is_cut_[n.index] = true;
    }
    std::vector<bool> is_candidate(g_.size());
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::map)
        if (const NodeId n = needed_again(id(i)); n.valid()) is_candidate[n.index] = true;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      depth_[i] = depth(id(i));
      is_cut_[i] = is_cut_[i] || (is_candidate[i] && depth_[i] > 0);
      if (depth_[i] <= kMostProductDepth) continue;
      for (NodeId x : g_.node(id(i)).operands)
        if (depth_[x.index] == kMostProductDepth && !is_cut_[x.index]) cut(bottleneck(x), id(i));
      depth_[i] = depth(id(i));
    }
    recurring_ = recurring_values(g_, needed_);
    for (NodeId n : recurring_) is_cut_[n.index] = true;
    repeated_ = values_at_many_positions(g_, known_, needed_, is_cut_, is_host_);
    for (NodeId n : repeated_) is_cut_[n.index] = true;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      has_scan_[i] = g_.node(id(i)).op == Op::scan;
      for (NodeId x : g_.node(id(i)).operands) {
        level_[i] = std::max(level_[i], level_[x.index] + (is_cut_[x.index] ? 1 : 0));
        has_scan_[i] = has_scan_[i] || (has_scan_[x.index] && !is_cut_[x.index]);
      }
    }
  }

  // The greatest number of products on a path to the node from stored values.
  int depth(NodeId n) const {
    int most = 0;
    for (NodeId x : g_.node(n).operands)
      if (!is_cut_[x.index]) most = std::max(most, depth_[x.index]);
    return most + (is_product_[n.index] ? 1 : 0);
  }

  // Stores a value; `last` is the last node whose depth is known.
  void cut(NodeId stored, NodeId last) {
    is_cut_[stored.index] = true;
    std::set<NodeId> changed{stored};  // in node order, operands first
    while (!changed.empty()) {
      const NodeId n = *changed.begin();
      changed.erase(changed.begin());
      const int before = depth_[n.index];
      depth_[n.index] = depth(n);
      if (n != stored && (before == depth_[n.index] || is_cut_[n.index])) continue;
      for (NodeId user : users_[n.index])
        if (user <= last) changed.insert(user);
    }
  }

  // The last value through which all products inside of `sink` pass before a reduction of them; `sink` if there is none.
  NodeId bottleneck(NodeId sink) const {
    std::set<NodeId> region;
    std::vector<std::pair<NodeId, NodeId>> edges;
    std::vector<NodeId> todo{sink};
    NodeId last_product;
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (!region.insert(n).second) continue;
      if (is_product_[n.index]) {
        if (!last_product.valid() || last_product < n) last_product = n;
        continue;
      }
      for (NodeId x : g_.node(n).operands)
        if (depth_[x.index] > 0 && !is_cut_[x.index]) edges.emplace_back(x, n), todo.push_back(x);
    }
    std::sort(edges.begin(), edges.end());
    NodeId found = sink, reached;  // reached: the farthest end of the edges that begin before a node
    auto edge = edges.begin();
    for (NodeId n : region) {
      for (; edge != edges.end() && edge->first < n; ++edge)
        if (!reached.valid() || reached < edge->second) reached = edge->second;
      if (g_.node(n).op == Op::reduce) break;
      const bool is_passed = reached.valid() && n < reached;
      const bool has_all = !last_product.valid() || last_product <= n;
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
      // All results of one call are computed by one kernel.
      if (!has_own_kernels(g_.node(id(i)).op)) level_[i] = std::max(level_[i], latest[i]);
      for (NodeId x : g_.node(id(i)).operands) latest[x.index] = std::min(latest[x.index], level_[i] - (is_cut_[x.index] ? 1 : 0));
    }
  }

  // The value that `join` takes element by element, while another operand is a product of the same value.
  NodeId needed_again(NodeId join) const {
    const Node& n = g_.node(join);
    for (std::size_t i = 0; i < n.operands.size(); ++i)
      for (std::size_t k = 0; k < n.operands.size(); ++k) {
        if (i == k) continue;
        if (const NodeId a = needed_again(n.operands[i], n.operands[k], graph::element_count(n.shape), kFarthestReuse); a.valid()) return a;
      }
    return {};
  }

  NodeId needed_again(NodeId a, NodeId other, const Dim& count, int farthest) const {
    while (graph::is_view(g_.node(a).op)) a = g_.node(a).operands[0];
    const Node& n = g_.node(a);
    if (graph::is_leaf(n.op) || graph::element_count(n.shape) != count) return {};
    if (depends_by_product(other, a)) return a;
    if (n.op != Op::map || farthest == 0) return {};
    for (NodeId x : n.operands)
      if (const NodeId found = needed_again(x, other, count, farthest - 1); found.valid()) return found;
    return {};
  }

  bool depends_by_product(NodeId from, NodeId on) const {
    const int products = products_[on.index];
    if (products_[from.index] <= products) return false;
    ++walk_;
    std::vector<std::pair<NodeId, bool>> todo{{from, false}};
    for (std::size_t steps = 0; !todo.empty() && steps < kMostStepsOfReuse; ++steps) {
      const auto [n, has_product] = todo.back();
      todo.pop_back();
      if (n == on) {
        if (has_product) return true;
        continue;
      }
      // On each path down, there is one product less after each product.
      if (n < on || products_[n.index] < products + (has_product ? 0 : 1)) continue;
      std::uint64_t& visited = visited_[n.index][has_product ? 1 : 0];
      if (visited == walk_) continue;
      visited = walk_;
      for (NodeId x : g_.node(n).operands) todo.emplace_back(x, has_product || is_product_[n.index]);
    }
    return false;
  }

  // ---- segments ----

  // Groups results that read a common tensor into one segment.
  std::vector<std::vector<NodeId>> components(const std::vector<NodeId>& results) const {
    std::map<NodeId, std::size_t> owner;  // for each node: the result that reached it first
    std::vector<std::size_t> parent(results.size());
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto group = [&](std::size_t i) {
      while (parent[i] != i) i = parent[i] = parent[parent[i]];
      return i;
    };
    const auto join = [&](std::size_t i, std::size_t k) {
      i = group(i), k = group(k);
      parent[std::max(i, k)] = std::min(i, k);
    };
    std::map<const graph::OpaqueKernel*, std::size_t> calls;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Node& result = g_.node(results[i]);
      if (result.op == Op::call) join(i, calls.emplace(result.kernel.get(), i).first->second);
      if (is_apart(results[i])) continue;
      const auto is_read = [&](NodeId n) { return is_stored_[n.index] || (is_in_memory(g_.node(n)) && g_.node(n).op != Op::scalar); };
      const auto enter = [&](NodeId n) {
        if (graph::is_leaf(g_.node(n).op) && !is_read(n)) return false;
        const auto [at, is_new] = owner.emplace(n, i);
        if (!is_new) join(i, at->second);
        return is_new;
      };
      const auto parts = [&](NodeId n) { return is_read(n) ? std::vector<NodeId>() : g_.node(n).operands; };
      visit_operands_first(results[i], parts, enter, [](NodeId) {});
    }
    std::map<std::size_t, std::vector<NodeId>> parts;
    for (std::size_t i = 0; i < results.size(); ++i) parts[group(i)].push_back(results[i]);
    std::vector<std::vector<NodeId>> all;
    for (auto& [first, nodes] : parts) all.push_back(std::move(nodes));
    return all;
  }

  void add_segments(std::vector<NodeId> results, std::vector<Segment>& all) {
    if (is_in_parts(results[0])) return add_joined(results[0], all);
    Segment whole;
    whole.results = std::move(results);
    structure_.describe(whole, [&](NodeId n) { return static_cast<bool>(is_stored_[n.index]); });
    for (Segment& s : structure_.divided(std::move(whole), most_operations_)) {
      std::set_intersection(s.results.begin(), s.results.end(), repeated_.begin(), repeated_.end(), std::back_inserter(s.repeated));
      std::set_intersection(s.results.begin(), s.results.end(), recurring_.begin(), recurring_.end(), std::back_inserter(s.recurring));
      std::set_intersection(s.results.begin(), s.results.end(), carried_.begin(), carried_.end(), std::back_inserter(s.carried));
      for (NodeId n : s.results) is_stored_[n.index] = true;
      all.push_back(std::move(s));
    }
  }

  // Adds the operands of a concatenation, each in the segments that compute it.
  void add_joined(NodeId whole, std::vector<Segment>& all) {
    const Node& n = g_.node(whole);
    const auto along = static_cast<std::size_t>(n.axes[0]);
    Dim begin = 0;
    for (NodeId operand : n.operands) {
      const Dim& extent = g_.node(operand).shape[along];
      if (extent == Dim(0)) continue;
      Segment part;
      part.results = {operand};
      structure_.describe(part, [&](NodeId x) { return static_cast<bool>(is_stored_[x.index]); });
      part.joined = {whole, begin};
      for (Segment& s : structure_.divided(std::move(part), most_operations_)) {
        if (s.joined)
          s.structure += joined_text(n);
        else
          for (NodeId x : s.results) is_stored_[x.index] = true;
        all.push_back(std::move(s));
      }
      begin = begin + extent;
    }
    all.back().joined->is_last = true;
    is_stored_[whole.index] = true;
  }

  void find_ahead(std::vector<Segment>& all) const {
    std::set<NodeId> read;
    for (const Segment& s : all) read.insert(s.memory.begin(), s.memory.end());
    for (Segment& s : all) {
      if (s.joined) {
        s.joined->is_ahead = known_.is_known(s.joined->whole) && read.contains(s.joined->whole);
        s.structure += s.joined->is_ahead ? "ahead\n" : "";
        continue;
      }
      for (std::size_t i = 0; i < s.nodes.size(); ++i)
        if (const NodeId n = s.nodes[i]; known_.is_known(n) && !has_own_memory(g_.node(n)) && read.contains(n) &&
                                         std::binary_search(s.results.begin(), s.results.end(), n)) {
          s.ahead.push_back(n);
          s.structure += fmt::format("ahead {}\n", i);
        }
    }
  }

  const Graph& g_;
  const std::size_t most_operations_;
  const bool is_host_;
  const KnownNodes known_;
  const SegmentStructure structure_;
  const std::vector<bool> needed_;
  std::vector<bool> is_product_, is_cut_;
  std::vector<bool> is_computed_;     // by more than element-wise ops
  std::vector<bool> is_in_parts_;     // concatenations of which each operand has segments of its own
  std::vector<bool> has_scan_;        // a scan is computed after the last stored values
  std::vector<bool> has_cut_pieces_;  // concatenations of which all pieces with products are stored
  std::vector<std::size_t> uses_;     // as operands and as outputs
  std::vector<NodeId> repeated_, recurring_, carried_;
  std::vector<bool> is_stored_;  // by the segments so far
  std::vector<int> depth_, level_;
  std::vector<int> products_;  // the greatest number of products on a path to each node
  std::vector<std::vector<NodeId>> users_;
  mutable std::vector<std::array<std::uint64_t, 2>> visited_;  // for depends_by_product: the last walk that visited each node
  mutable std::uint64_t walk_ = 0;
};

}  // namespace

std::vector<Segment> divide(const Graph& g, std::size_t most_operations, bool is_host) {
  return SegmentBuilder(g, most_operations, is_host).run();
}

std::set<NodeId> results_ahead(const std::vector<Segment>& segments) {
  std::set<NodeId> ahead;
  for (const Segment& s : segments) {
    ahead.insert(s.ahead.begin(), s.ahead.end());
    if (s.joined && s.joined->is_ahead) ahead.insert(s.joined->whole);
  }
  return ahead;
}

}  // namespace tilewright::passes::fusion
