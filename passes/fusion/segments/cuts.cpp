// Decides which values are stored, and at which level each node is computed.
#include "passes/fusion/segments/cuts.h"

#include <algorithm>
#include <climits>
#include <set>
#include <utility>

#include "passes/fusion/graph/concat_pieces.h"
#include "passes/fusion/graph/joined_operands.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph/recurring_values.h"
#include "passes/fusion/graph/shifted_reads.h"
#include "passes/fusion/segments/product_reuse.h"
#include "passes/fusion/segments/segment.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/segments/walked_sums.h"
#include "passes/fusion/thresholds.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

class CutFinder {
 public:
  CutFinder(const Graph& g, const KnownNodes& known, const SegmentStructure& structure, const std::vector<bool>& needed,
            std::size_t most_operations, bool is_host)
      : g_(g),
        known_(known),
        structure_(structure),
        needed_(needed),
        most_operations_(most_operations),
        is_host_(is_host),
        reuse_(g),
        is_computed_(g.size()),
        has_cut_pieces_(g.size()),
        uses_(g.size()),
        users_(g.size()) {
    const std::vector<bool> none(g.size());
    cuts_ = {none, none, none, none, std::vector<int>(g.size()), std::vector<int>(g.size()), {}, {}, {}};
    for (std::size_t i = 0; i < g.size(); ++i)
      if (needed_[i])
        for (NodeId x : g.node(id(i)).operands) users_[x.index].push_back(id(i));
    for (std::size_t i = 0; i < g.size(); ++i) uses_[i] = users_[i].size();
    for (const graph::Output& o : g.outputs()) ++uses_[o.node.index];
  }

  Cuts run() {
    find_cuts();
    delay();
    return std::move(cuts_);
  }

 private:
  static NodeId id(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }

  // Nodes with kernels of their own are cut off, and so are the values that they read. But an operand of a concatenation that nothing else
  // needs is computed by the kernel that writes it at its position. An index of take_along may depend on the position along which its operand
  // is scanned: the elements that are picked are those of many scans.
  void find_own_kernels() {
    JoinedConcats joined = joined_concats(g_, needed_, uses_, is_host_);
    cuts_.is_in_parts = std::move(joined.is_in_parts);
    cuts_.is_inner = std::move(joined.is_inner);
    for (std::size_t i = 0; i < g_.size(); ++i) {
      const Node& n = g_.node(id(i));
      if (n.op == Op::take_along && needed_[i] && cuts_.has_scan[n.operands[0].index]) cuts_.is_cut[n.operands[0].index] = true;
      if (n.op == Op::scan && needed_[i]) cut_scans_in(n.operands[0]);
      cuts_.has_scan[i] = n.op == Op::scan;
      for (NodeId x : n.operands) cuts_.has_scan[i] = cuts_.has_scan[i] || (cuts_.has_scan[x.index] && !cuts_.is_cut[x.index]);
      is_computed_[i] = graph::combines_elements(n.op);
      for (NodeId x : n.operands) is_computed_[i] = is_computed_[i] || (is_computed_[x.index] && !cuts_.is_cut[x.index]);
      if (!needed_[i] || !is_apart(g_, cuts_, id(i))) continue;
      cuts_.is_cut[i] = true;
      const auto is_part = [&](NodeId x) { return n.op == Op::concat && is_needed_once(g_, x, uses_, is_computed_); };
      for (NodeId x : operands_of(id(i)))
        if (!has_own_memory(g_.node(x)) && (n.op == Op::call || is_computed_[x.index]) && !is_part(x)) cuts_.is_cut[x.index] = true;
    }
  }

  // The nodes that the kernels of a node compute or read. For a concatenation in parts, these include the operands of inner concatenations.
  std::vector<NodeId> operands_of(NodeId n) const {
    if (!cuts_.is_in_parts[n.index]) return g_.node(n).operands;
    std::vector<NodeId> all;
    for (const JoinedOperand& o : joined_operands(g_, n, [&](NodeId x) { return static_cast<bool>(cuts_.is_inner[x.index]); }))
      all.push_back(o.node);
    return all;
  }

  // No loop computes a scan inside of a scan: the inner one is stored, whatever is fused, and all that need it read it.
  void cut_scans_in(NodeId scanned) {
    std::vector<NodeId> todo{scanned};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (cuts_.is_cut[n.index] || !cuts_.has_scan[n.index]) continue;
      cuts_.has_scan[n.index] = false;
      if (g_.node(n).op == Op::scan)
        cuts_.is_cut[n.index] = true;
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
      if (std::ranges::any_of(operands, [&](NodeId other) { return other != a && reuse_.depends_by_product(other, a); })) cut_pieces(a);
  }

  void cut_pieces(NodeId operand) {
    std::vector<NodeId> todo{operand};
    while (!todo.empty()) {
      NodeId n = todo.back();
      todo.pop_back();
      while (graph::is_view(g_.node(n).op) && !cuts_.is_cut[n.index]) n = g_.node(n).operands[0];
      if (cuts_.is_cut[n.index] || graph::is_leaf(g_.node(n).op)) continue;
      if (g_.node(n).op != Op::concat) {
        cuts_.is_cut[n.index] = holds_product(n);
        continue;
      }
      if (!has_cut_pieces_[n.index]) todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
      has_cut_pieces_[n.index] = true;
    }
  }

  // Whether a product is computed after the last stored values; true for a value that takes many steps.
  bool holds_product(NodeId value) const {
    if (!reuse_.holds_products(value)) return false;
    std::set<NodeId> seen;
    std::vector<NodeId> todo{value};
    while (!todo.empty()) {
      const NodeId n = todo.back();
      todo.pop_back();
      if (cuts_.is_cut[n.index] || !reuse_.holds_products(n) || !seen.insert(n).second) continue;
      if (reuse_.is_product(n) || seen.size() > kMostStepsOfPiece) return true;
      todo.insert(todo.end(), g_.node(n).operands.begin(), g_.node(n).operands.end());
    }
    return false;
  }

  // Whether a concatenation in place is too large for one segment, and nothing is computed twice if each operand has one of its own.
  bool is_large(NodeId whole) const {
    const std::vector<NodeId>& operands = g_.node(whole).operands;
    const auto has_own_segment = [&](NodeId x) {
      return g_.node(x).op != Op::concat && (!is_computed_[x.index] || is_needed_once(g_, x, uses_, is_computed_));
    };
    if (!std::all_of(operands.begin(), operands.end(), has_own_segment)) return false;
    Segment all;
    all.results = {whole};
    structure_.describe(all, [&](NodeId n) { return static_cast<bool>(cuts_.is_cut[n.index]); });
    return operations_of(g_, all) > most_operations_;
  }

  void find_cuts() {
    find_own_kernels();
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::materialize) cuts_.is_cut[i] = true;
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::concat) cut_pieces_needed_again(id(i));
    for (NodeId n : concatenations_in_place(g_, known_, needed_, cuts_.is_cut)) {
      cuts_.is_in_parts[n.index] = is_large(n);
      cuts_.is_cut[n.index] = true;
    }
    std::vector<bool> is_candidate(g_.size());
    for (std::size_t i = 0; i < g_.size(); ++i)
      if (needed_[i] && g_.node(id(i)).op == Op::map)
        if (const NodeId n = reuse_.needed_again(id(i)); n.valid()) is_candidate[n.index] = true;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      cuts_.depth[i] = depth(id(i));
      cuts_.is_cut[i] = cuts_.is_cut[i] || (is_candidate[i] && cuts_.depth[i] > 0);
      if (cuts_.depth[i] <= kMostProductDepth) continue;
      for (NodeId x : g_.node(id(i)).operands)
        if (cuts_.depth[x.index] == kMostProductDepth && !cuts_.is_cut[x.index]) cut(bottleneck(x), id(i));
      cuts_.depth[i] = depth(id(i));
    }
    cuts_.recurring = recurring_values(g_, needed_);
    for (NodeId n : cuts_.recurring) cuts_.is_cut[n.index] = true;
    cuts_.walked = walked_sums(g_, reuse_, needed_, cuts_.is_cut);
    for (NodeId n : cuts_.walked) cuts_.is_cut[n.index] = true;
    cuts_.repeated = values_at_many_positions(g_, known_, needed_, cuts_.is_cut, is_host_);
    for (NodeId n : cuts_.repeated) cuts_.is_cut[n.index] = true;
    for (std::size_t i = 0; i < g_.size(); ++i) {
      cuts_.has_scan[i] = g_.node(id(i)).op == Op::scan;
      for (NodeId x : g_.node(id(i)).operands) {
        cuts_.level[i] = std::max(cuts_.level[i], cuts_.level[x.index] + (cuts_.is_cut[x.index] ? 1 : 0));
        cuts_.has_scan[i] = cuts_.has_scan[i] || (cuts_.has_scan[x.index] && !cuts_.is_cut[x.index]);
      }
    }
  }

  // The greatest number of products on a path to the node from stored values.
  int depth(NodeId n) const {
    int most = 0;
    for (NodeId x : g_.node(n).operands)
      if (!cuts_.is_cut[x.index]) most = std::max(most, cuts_.depth[x.index]);
    return most + (reuse_.is_product(n) ? 1 : 0);
  }

  // Stores a value; `last` is the last node whose depth is known.
  void cut(NodeId stored, NodeId last) {
    cuts_.is_cut[stored.index] = true;
    std::set<NodeId> changed{stored};  // in node order, operands first
    while (!changed.empty()) {
      const NodeId n = *changed.begin();
      changed.erase(changed.begin());
      const int before = cuts_.depth[n.index];
      cuts_.depth[n.index] = depth(n);
      if (n != stored && (before == cuts_.depth[n.index] || cuts_.is_cut[n.index])) continue;
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
      if (reuse_.is_product(n)) {
        if (!last_product.valid() || last_product < n) last_product = n;
        continue;
      }
      for (NodeId x : g_.node(n).operands)
        if (cuts_.depth[x.index] > 0 && !cuts_.is_cut[x.index]) edges.emplace_back(x, n), todo.push_back(x);
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
    for (const graph::Output& o : g_.outputs()) latest[o.node.index] = cuts_.level[o.node.index];
    for (std::size_t i = g_.size(); i-- > 0;) {
      if (!needed_[i]) continue;
      // All results of one call are computed by one kernel.
      if (!has_own_kernels(g_.node(id(i)).op)) cuts_.level[i] = std::max(cuts_.level[i], latest[i]);
      for (NodeId x : g_.node(id(i)).operands)
        latest[x.index] = std::min(latest[x.index], cuts_.level[i] - (cuts_.is_cut[x.index] ? 1 : 0));
    }
  }

  const Graph& g_;
  const KnownNodes& known_;
  const SegmentStructure& structure_;
  const std::vector<bool>& needed_;
  const std::size_t most_operations_;
  const bool is_host_;
  const ProductReuse reuse_;
  Cuts cuts_;
  std::vector<bool> is_computed_;     // by more than element-wise ops
  std::vector<bool> has_cut_pieces_;  // concatenations of which all pieces with products are stored
  std::vector<std::size_t> uses_;     // the number of uses as an operand or an output
  std::vector<std::vector<NodeId>> users_;
};

}  // namespace

bool is_apart(const Graph& g, const Cuts& cuts, NodeId n) { return has_own_kernels(g.node(n).op) || cuts.is_in_parts[n.index]; }

Cuts find_cuts(const Graph& g, const KnownNodes& known, const SegmentStructure& structure, const std::vector<bool>& needed,
               std::size_t most_operations, bool is_host) {
  return CutFinder(g, known, structure, needed, most_operations, is_host).run();
}

}  // namespace tilewright::passes::fusion
