// Orders classes by the cost of their cheapest formula.
#include "passes/search/saturate/extract.h"

#include <functional>
#include <queue>

#include "passes/search/plain_terms.h"
#include "passes/search/saturate/known_terms.h"
#include "passes/search/saturate/node_cost.h"

namespace tilewright::passes::search {
namespace {

class Extractor {
 public:
  Extractor(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const ir::TargetDesc& target)
      : written_(written), all_(all), classes_(classes), cost_(written, all, target), known_(written, all) {
    known_.update(classes);
  }

  Extraction run() {
    Extraction e;
    e.members = choose();
    e.seconds = seconds({classes_, e.members}, [&](int root) { return known_.is_known_class(root); });
    e.seconds_written = seconds({PlainTerms(all_.terms)}, [&](int term) { return known_.is_known(term); });
    return e;
  }

 private:
  struct Candidate {
    int root;
    std::size_t member;
    double own;
    std::vector<int> operands;
    std::size_t open;  // operands that are not final
  };

  /// The classes from which a node is computed; those of a leaf are the values that it reads.
  std::vector<int> operands(const NodeSource& source, const Node& n) const {
    std::vector<int> all;
    for (int i = 0; i < operands_of(n); ++i) all.push_back(source.find(n.in[static_cast<std::size_t>(i)]).term);
    if (n.op != Op::variable) return all;
    if (const Leaf& leaf = all_.leaves[static_cast<std::size_t>(n.attribute)]; leaf.kind == Leaf::Kind::node)
      for (graph::NodeId x : written_.node(leaf.node).operands) all.push_back(source.find(all_.values[x.index]->ref).term);
    return all;
  }

  std::vector<std::size_t> choose() const {
    const auto count = static_cast<std::size_t>(classes_.added_terms());
    std::vector<Candidate> candidates;
    std::vector<std::vector<std::size_t>> users(count);  // candidates by operand
    using Entry = std::pair<double, std::size_t>;        // cost, candidate
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
    for (int root = 0; root < classes_.added_terms(); ++root) {
      const std::vector<Member>& members = classes_.members(root);
      for (std::size_t m = 0; m < members.size() && classes_.is_root(root); ++m) {
        Candidate c{root, m, cost_.seconds(members[m].node, known_.is_known_class(root)), operands(classes_, members[m].node), 0};
        c.open = c.operands.size();
        for (int operand : c.operands) users[static_cast<std::size_t>(operand)].push_back(candidates.size());
        if (c.open == 0) next.emplace(c.own, candidates.size());
        candidates.push_back(std::move(c));
      }
    }
    std::vector<std::size_t> chosen(count, 0);
    std::vector<double> costs(count, -1);  // negative: not final
    while (!next.empty()) {
      const auto [cost, at] = next.top();
      next.pop();
      const auto root = static_cast<std::size_t>(candidates[at].root);
      if (costs[root] >= 0) continue;
      costs[root] = cost;
      chosen[root] = candidates[at].member;
      for (std::size_t user : users[root]) {
        Candidate& c = candidates[user];
        if (--c.open > 0) continue;
        double sum = c.own;
        for (int operand : c.operands) sum += costs[static_cast<std::size_t>(operand)];
        next.emplace(sum, user);
      }
    }
    return chosen;
  }

  /// The cost of what the outputs need, each value once.
  double seconds(const Choice& choice, const std::function<bool(int)>& is_known) {
    double sum = 0;
    std::vector<bool> seen(static_cast<std::size_t>(all_.terms.size()));
    std::vector<int> stack;
    for (const graph::Output& o : written_.outputs()) stack.push_back(choice.source.find(all_.values[o.node.index]->ref).term);
    while (!stack.empty()) {
      const int root = stack.back();
      stack.pop_back();
      if (seen[static_cast<std::size_t>(root)]) continue;
      seen[static_cast<std::size_t>(root)] = true;
      const Node& n = choice.member(root).node;
      sum += cost_.seconds(n, is_known(root));
      for (int operand : operands(choice.source, n)) stack.push_back(operand);
    }
    return sum;
  }

  const graph::Graph& written_;
  const GraphTerms& all_;
  const EGraph& classes_;
  NodeCost cost_;
  KnownTerms known_;
};

}  // namespace

Extraction extract(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const ir::TargetDesc& target) {
  return Extractor(written, all, classes, target).run();
}

}  // namespace tilewright::passes::search
