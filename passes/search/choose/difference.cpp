// Groups changed classes, and walks the forest of reasons.
#include "passes/search/choose/difference.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/search/plain_terms.h"
#include "passes/search/thresholds.h"

namespace tilewright::passes::search {
namespace {

/// Collects rules on paths of the forest.
class RuleCollector {
 public:
  RuleCollector(const EGraph& classes, const TermTable& terms) : classes_(classes), terms_(terms) {}

  void add_between(int a, int b) {
    if (a == b || !seen_.emplace(a, b).second || static_cast<int>(seen_.size()) > kMostPaths) return;
    std::vector<Edge> up = path_up(a), down = path_up(b);
    // Both paths end at the root of one tree; what they have in common there is left out.
    while (!up.empty() && !down.empty() && up.back().from == down.back().from) up.pop_back(), down.pop_back();
    for (const Edge& e : up) add(e);
    for (auto e = down.rbegin(); e != down.rend(); ++e) add(*e);
  }
  const std::vector<int>& rules() const { return rules_; }

 private:
  struct Edge {
    int from, to, rule;
  };

  std::vector<Edge> path_up(int term) const {
    std::vector<Edge> path;
    while (classes_.reason(term).to) {
      const EGraph::Reason& reason = classes_.reason(term);
      path.push_back({term, reason.to.term, reason.rule});
      term = reason.to.term;
    }
    return path;
  }

  void add(const Edge& e) {
    if (e.rule != kCongruence) {
      if (std::find(rules_.begin(), rules_.end(), e.rule) == rules_.end()) rules_.push_back(e.rule);
      return;
    }
    // Operands are equal, in one order or the other.
    const Node &a = terms_.node(e.from), &b = terms_.node(e.to);
    const bool is_swapped = is_commutative(a.op) && classes_.find(a.in[0]).term != classes_.find(b.in[0]).term;
    for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(a)); ++i) add_between(a.in[i].term, b.in[is_swapped ? 1 - i : i].term);
  }

  const EGraph& classes_;
  const TermTable& terms_;
  std::set<std::pair<int, int>> seen_;
  std::vector<int> rules_;
};

}  // namespace

Difference::Difference(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const std::vector<std::size_t>& members)
    : written_(written),
      all_(all),
      classes_(classes),
      members_(members),
      written_members_(members_as_written(written, all, classes)),
      terms_(members.size(), -1),
      states_(members.size()) {
  const PlainTerms source(all.terms);
  for (int term : needed_classes(written, all, {source})) {
    int& own = terms_[static_cast<std::size_t>(classes.find({term, {}}).term)];
    if (own < 0) own = term;
  }
  const std::vector<int> needed = needed_classes(written, all, {classes, members});
  for (int root : needed) {
    const auto at = static_cast<std::size_t>(root);
    states_[at] = terms_[at] >= 0 && members[at] == written_members_[at] ? State::kept : State::changed;
  }
  find_pieces(needed);
}

void Difference::find_pieces(const std::vector<int>& needed) {
  std::map<int, int> group;  // by changed class: another one of its piece, or itself
  const auto first = [&](int c) {
    while (group.at(c) != c) c = group.at(c);
    return c;
  };
  std::set<int> read;  // changed classes that are read outside of their piece
  for (const graph::Output& o : written_.outputs()) read.insert(classes_.find(all_.values[o.node.index]->ref).term);
  for (int root : needed) {
    const auto at = static_cast<std::size_t>(root);
    if (states_[at] == State::changed) group[root] = root;
    for (int operand : operand_classes(written_, all_, classes_, classes_.members(root)[members_[at]].node)) {
      if (states_[static_cast<std::size_t>(operand)] != State::changed) continue;
      if (states_[at] == State::changed)
        group[first(root)] = first(operand);
      else
        read.insert(operand);
    }
  }
  std::map<int, std::size_t> number;
  for (int root : needed) {
    if (states_[static_cast<std::size_t>(root)] != State::changed) continue;
    const auto [at, is_new] = number.emplace(first(root), pieces_.size());
    if (is_new) pieces_.emplace_back();
    Piece& piece = pieces_[at->second];
    piece.classes.push_back(root);
    if (const int term = terms_[static_cast<std::size_t>(root)]; term >= 0 && read.contains(root)) piece.values.push_back({term, root});
  }
}

std::vector<std::size_t> Difference::without(const Piece& piece) const {
  std::vector<std::size_t> members = members_;
  for (int root : piece.classes) members[static_cast<std::size_t>(root)] = written_members_[static_cast<std::size_t>(root)];
  return members;
}

std::vector<int> Difference::rules_of(const Piece& piece) const {
  RuleCollector collector(classes_, all_.terms);
  std::set<int> seen;
  std::vector<int> todo;
  for (auto v = piece.values.rbegin(); v != piece.values.rend(); ++v) todo.push_back(v->term);
  while (!todo.empty()) {
    const int term = todo.back();
    todo.pop_back();
    const int root = classes_.find({term, {}}).term;
    if (states_[static_cast<std::size_t>(root)] != State::changed || !seen.insert(term).second) continue;
    const int chosen = classes_.sources(root)[members_[static_cast<std::size_t>(root)]];
    collector.add_between(term, chosen);
    const Node& n = all_.terms.node(chosen);
    for (int i = operands_of(n); i-- > 0;) todo.push_back(n.in[static_cast<std::size_t>(i)].term);
  }
  return collector.rules();
}

std::vector<int> Difference::terms_of(const Piece& piece) const {
  std::set<int> seen;
  std::vector<int> todo;
  for (const RewrittenTerm& v : piece.values) todo.push_back(v.term);
  const PlainTerms source(all_.terms);
  while (!todo.empty()) {
    const int term = todo.back();
    todo.pop_back();
    if (is_kept(classes_.find({term, {}}).term) || !seen.insert(term).second) continue;
    for (int operand : operand_classes(written_, all_, source, all_.terms.node(term))) todo.push_back(operand);
  }
  return {seen.begin(), seen.end()};
}

}  // namespace tilewright::passes::search
