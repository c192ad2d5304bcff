// Union-find with permutations, congruence by rebuilding, and the forest of reasons.
#include "passes/search/egraph.h"

namespace tilewright::passes::search {
namespace {

Labels own_slots(int count) {
  Labels slots;
  for (int s = 0; s < count; ++s) slots.push_back(static_cast<Label>(s));
  return slots;
}

/// The reference `to`, written in labels in which the slots of `from` are called 0, 1, ...
Ref relative(const Ref& to, const Labels& from) {
  Ref r{to.term, {}};
  for (Label l : to.labels) r.labels.push_back(static_cast<Label>(from.slot_of(l)));
  return r;
}

}  // namespace

Ref EGraph::find(const Ref& r) const {
  Ref at = r;
  for (;;) {
    const Ref& parent = parents_[static_cast<std::size_t>(at.term)];
    if (parent.term == at.term) return at;
    Ref up{parent.term, at.labels};
    for (int s = 0; s < at.labels.size(); ++s) up.labels[parent.labels[s]] = at.labels[s];
    at = up;
  }
}

CanonicalNode EGraph::normalise(const Node& n) const {
  Node m = n;
  for (int i = 0; i < operands_of(n); ++i) m.in[static_cast<std::size_t>(i)] = find(n.in[static_cast<std::size_t>(i)]);
  return canonical(m);
}

CanonicalNode EGraph::normal(int term) const { return normalise(terms_.node(term)); }

void EGraph::add_terms() {
  for (int term = added_terms(); term < terms_.size(); ++term) {
    const Labels slots = terms_.slots(term);
    parents_.push_back({term, own_slots(slots.size())});
    reasons_.push_back({});
    members_.emplace_back();
    sources_.emplace_back();
    has_changed_.push_back(true);
    const CanonicalNode c = normal(term);
    Labels renamed;
    for (Label l : slots) renamed.push_back(c.renamed[l]);
    const auto [at, is_new] = known_.emplace(c.node, Known{term, renamed});
    if (is_new) {
      members_.back().push_back({c.node, renamed});
      sources_.back().push_back(term);
      ++nodes_;
    } else {
      unite({term, renamed}, {at->second.term, at->second.slots}, kCongruence);
    }
  }
}

void EGraph::add_reason(const Ref& a, const Ref& b, int rule) {
  // The edges from a to the root of its tree are reversed, so that a is a root and can hang below b.
  Ref child = a;
  Reason edge{b, rule};
  while (child) {
    Reason& own = reasons_[static_cast<std::size_t>(child.term)];
    const Reason old = own;
    own = {relative(edge.to, child.labels), edge.rule};
    if (!old.to) return;
    Ref next{old.to.term, {}};
    for (Label l : old.to.labels) next.labels.push_back(child.labels[l]);
    edge = {child, old.rule};
    child = next;
  }
}

bool EGraph::unite(const Ref& a, const Ref& b, int reason) {
  Ref from = find(a), to = find(b);
  if (from.term == to.term) return false;
  TW_CHECK(from.labels.set() == to.labels.set(), "terms of different axes are not equal");
  TW_CHECK(terms_.element(from) == terms_.element(to), "terms of different types are not equal");
  add_reason(a, b, reason);
  auto at = [](auto& v, int term) -> auto& { return v[static_cast<std::size_t>(term)]; };
  if (at(members_, to.term).size() < at(members_, from.term).size()) std::swap(from, to);
  Labels up = from.labels;
  for (int s = 0; s < up.size(); ++s) up[s] = static_cast<Label>(to.labels.slot_of(from.labels[s]));
  at(parents_, from.term) = {to.term, up};
  for (const Member& m : at(members_, from.term)) {
    Member moved = m;
    for (int s = 0; s < up.size(); ++s) moved.slots[up[s]] = m.slots[s];
    at(members_, to.term).push_back(moved);
  }
  if (!at(members_, from.term).empty()) has_changed_[static_cast<std::size_t>(to.term)] = true;
  auto& sources = at(sources_, from.term);
  at(sources_, to.term).insert(at(sources_, to.term).end(), sources.begin(), sources.end());
  at(members_, from.term).clear();
  sources.clear();
  return true;
}

void EGraph::rebuild() {
  do {
    known_.clear();
    nodes_ = 0;
    for (int root = 0; root < added_terms(); ++root) {
      if (!is_root(root)) continue;
      std::vector<Member> old = std::move(members_[static_cast<std::size_t>(root)]);
      std::vector<int> terms = std::move(sources_[static_cast<std::size_t>(root)]);
      auto& members = members_[static_cast<std::size_t>(root)];
      auto& sources = sources_[static_cast<std::size_t>(root)];
      members.clear(), sources.clear();
      for (std::size_t i = 0; i < old.size(); ++i) {
        const CanonicalNode c = normalise(old[i].node);
        Member m{c.node, {}};
        for (Label l : old[i].slots) m.slots.push_back(c.renamed[l]);
        Known known{terms[i], {}};
        for (const Ref r = find({terms[i], own_slots(m.slots.size())}); Label s : own_slots(m.slots.size()))
          known.slots.push_back(m.slots[r.labels.slot_of(s)]);
        const auto [at, is_new] = known_.emplace(c.node, known);
        if (!is_new) {
          // The node is known. If it is in this class, only a symmetry of the class would follow, which is not kept.
          const Ref here{known.term, known.slots}, there{at->second.term, at->second.slots};
          if (find(here).term == find(there).term) continue;
          pending_.push_back({here, there});
        }
        if (!(m.node == old[i].node && m.slots == old[i].slots)) has_changed_[static_cast<std::size_t>(root)] = true;
        members.push_back(m);
        sources.push_back(terms[i]);
        ++nodes_;
      }
      if (members.size() != old.size()) has_changed_[static_cast<std::size_t>(root)] = true;
    }
    if (pending_.empty()) return;
    unite_pending();
  } while (true);
}

void EGraph::unite_pending() {
  for (const Pending& p : pending_) unite(p.a, p.b, kCongruence);
  pending_.clear();
}

}  // namespace tilewright::passes::search
