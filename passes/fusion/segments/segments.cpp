// Assigns nodes to segments, and describes the structure of each segment.
#include "passes/fusion/segments/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "passes/fusion/graph/carried_values.h"
#include "passes/fusion/graph/joined_operands.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/graph_walk.h"
#include "passes/fusion/segments/cuts.h"
#include "passes/fusion/segments/segment_structure.h"
#include "tileir/graph/graph_op_info.h"

namespace tilewright::passes::fusion {

namespace {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Op;

class SegmentBuilder {
 public:
  SegmentBuilder(const Graph& g, std::size_t most_operations, bool is_host)
      : g_(g),
        most_operations_(most_operations),
        known_(g),
        structure_(g, known_),
        needed_(g.needed_nodes()),
        cuts_(find_cuts(g, known_, structure_, needed_, most_operations, is_host)),
        carried_(carried_values(g, known_, needed_, cuts_.is_cut, cuts_.level)),
        slices_(g.size()),
        is_stored_(g.size()) {
    for (std::uint32_t i = 0; i < g.size(); ++i)
      if (needed_[i] && g.node({i}).op == Op::slice) ++slices_[g.node({i}).operands[0].index];
  }

  std::vector<Segment> run() {
    std::vector<Segment> all;
    for (auto& [level, nodes] : results_of_levels()) {
      // A value that an earlier part stores is not a result a second time.
      std::erase_if(nodes, [&](NodeId n) { return is_stored_[n.index]; });
      for (std::vector<NodeId>& part : components({nodes.begin(), nodes.end()})) add_segments(std::move(part), all);
    }
    find_ahead(all);
    return all;
  }

 private:
  static NodeId id(std::size_t i) { return {static_cast<std::uint32_t>(i)}; }

  std::map<int, std::set<NodeId>> results_of_levels() const {
    const std::vector<int>& level = cuts_.level;
    std::map<int, std::set<NodeId>> results;
    for (const graph::Output& o : g_.outputs()) results[level[o.node.index]].insert(o.node);
    for (std::size_t i = 0; i < g_.size(); ++i) {
      if (!needed_[i]) continue;
      if (cuts_.is_cut[i]) results[level[i]].insert(id(i));
      // An expensive value that a later segment needs is stored as well.
      for (NodeId x : g_.node(id(i)).operands)
        if (level[x.index] < level[i] && (cuts_.depth[x.index] > 0 || cuts_.has_scan[x.index])) results[level[x.index]].insert(x);
    }
    for (NodeId n : carried_) results[level[n.index]].insert(n);
    return results;
  }

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
      if (is_apart(g_, cuts_, results[i])) continue;
      const auto is_read = [&](NodeId n) { return is_stored_[n.index] || (is_in_memory(g_.node(n)) && g_.node(n).op != Op::scalar); };
      const auto enter = [&](NodeId n) {
        if (graph::is_leaf(g_.node(n).op) && !is_read(n)) return false;
        const auto [at, is_new] = owner.emplace(n, i);
        if (!is_new) join(i, at->second);
        return is_new;
      };
      const auto parts = [&](NodeId n) {
        const std::vector<NodeId>& operands = g_.node(n).operands;
        const bool is_one_of_many = g_.node(n).op == Op::slice && slices_[operands[0].index] > kMostSlicesTogether && is_read(operands[0]);
        return is_read(n) || is_one_of_many ? std::vector<NodeId>() : operands;
      };
      visit_operands_first(results[i], parts, enter, [](NodeId) {});
    }
    std::map<std::size_t, std::vector<NodeId>> parts;
    for (std::size_t i = 0; i < results.size(); ++i) parts[group(i)].push_back(results[i]);
    std::vector<std::vector<NodeId>> all;
    for (auto& [first, nodes] : parts) all.push_back(std::move(nodes));
    return all;
  }

  void add_segments(std::vector<NodeId> results, std::vector<Segment>& all) {
    if (cuts_.is_in_parts[results[0].index]) return add_joined(results[0], all);
    Segment whole;
    whole.results = std::move(results);
    structure_.describe(whole, [&](NodeId n) { return static_cast<bool>(is_stored_[n.index]); });
    for (Segment& s : structure_.divided(std::move(whole), most_operations_)) {
      std::set_intersection(s.results.begin(), s.results.end(), cuts_.repeated.begin(), cuts_.repeated.end(),
                            std::back_inserter(s.repeated));
      std::set_intersection(s.results.begin(), s.results.end(), cuts_.recurring.begin(), cuts_.recurring.end(),
                            std::back_inserter(s.recurring));
      std::set_intersection(s.results.begin(), s.results.end(), cuts_.walked.begin(), cuts_.walked.end(), std::back_inserter(s.walked));
      std::set_intersection(s.results.begin(), s.results.end(), carried_.begin(), carried_.end(), std::back_inserter(s.carried));
      for (NodeId n : s.results) is_stored_[n.index] = true;
      all.push_back(std::move(s));
    }
  }

  // Adds the operands of a concatenation, and of those inside of it, each in the segments that compute it.
  void add_joined(NodeId whole, std::vector<Segment>& all) {
    // A concatenation that is stored is an operand, though it would be an inner one.
    const auto is_inner = [&](NodeId x) { return cuts_.is_inner[x.index] && !is_stored_[x.index]; };
    for (const auto& [operand, begin] : joined_operands(g_, whole, is_inner)) {
      Segment part;
      part.results = {operand};
      structure_.describe(part, [&](NodeId x) { return static_cast<bool>(is_stored_[x.index]); });
      part.joined = {whole, begin};
      for (Segment& s : structure_.divided(std::move(part), most_operations_)) {
        if (s.joined)
          s.structure += joined_text(g_.node(whole));
        else
          for (NodeId x : s.results) is_stored_[x.index] = true;
        all.push_back(std::move(s));
      }
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
  const KnownNodes known_;
  const SegmentStructure structure_;
  const std::vector<bool> needed_;
  const Cuts cuts_;
  const std::vector<NodeId> carried_;
  std::vector<std::size_t> slices_;  // of each node
  std::vector<bool> is_stored_;      // by the segments so far
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
