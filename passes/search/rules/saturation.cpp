// Rounds of matching, uniting and rebuilding.
#include "passes/search/rules/saturation.h"

#include "passes/search/thresholds.h"

namespace tilewright::passes::search {
namespace {

constexpr int kDepthOfUse = 1;  // use_if asks for the operands of what variables stand for

}  // namespace

bool binds_all(const Equation& e, int side) { return (variables_of(e.side(1 - side)) & ~variables_of(e.side(side))) == 0; }

Saturation::Saturation(TermTable& terms, std::span<const Rule> rules, const std::vector<Direction>& directions)
    : terms_(terms), graph_(terms), rules_(rules) {
  for (const Direction& d : directions) matchers_.push_back({Matcher(graph_, terms_, rules[static_cast<std::size_t>(d.rule)], d.side), d});
}

Saturation::Outcome Saturation::run(const SaturationLimits& limits, const std::function<bool()>& is_reached) {
  graph_.add_terms();
  for (rounds_ = 0;; ++rounds_) {
    if (is_reached()) return Outcome::reached;
    if (rounds_ == limits.rounds || graph_.nodes() > limits.nodes) return Outcome::limited;
    const bool is_whole = find(limits);
    graph_.add_terms();
    bool has_changed = false;
    for (const Application& f : found_) has_changed |= graph_.unite(f.before, f.after, f.rule);
    if (!has_changed) return is_whole ? Outcome::complete : Outcome::limited;
    graph_.rebuild();
  }
}

void Saturation::add(std::span<const Application> applications) {
  graph_.add_terms();
  for (const Application& a : applications) graph_.unite(a.before, a.after, a.rule);
  graph_.rebuild();
}

bool Saturation::find(const SaturationLimits& limits) {
  found_.clear();
  const int classes = graph_.added_terms();
  int deepest = 0;
  for (const SideMatcher& m : matchers_) deepest = std::max(deepest, depth_of_matches(m));
  find_distances(deepest);
  for (SideMatcher& m : matchers_) {
    const Rule& rule = rules_[static_cast<std::size_t>(m.direction.rule)];
    const int depth = depth_of_matches(m);
    for (int root = 0; root < classes; ++root) {
      if (!graph_.is_root(root) || distances_[static_cast<std::size_t>(root)] > depth || !m.matcher.has_root(root)) continue;
      if (where_ && !where_(m.direction, root)) continue;
      if (terms_.size() > classes + static_cast<int>(kTermsOfNode * limits.nodes)) return false;
      Labels slots = terms_.slots(root);
      for (int s = 0; s < slots.size(); ++s) slots[s] = static_cast<Label>(s);
      const int before = terms_.size();
      m.matcher.at({root, slots}, [&](const Match& match) {
        if (used_ && !used_(m.direction, match)) return;
        const Ref other = instantiate(terms_, rule.equation.side(1 - m.direction.side), match.binding);
        if (!other) return;
        const bool is_known = other.term < classes && match.found.term < classes && graph_.are_equal(other, match.found);
        if (!is_known) found_.push_back({match.found, other, m.direction.rule});
      });
      for (int term = before; term < terms_.size() && added_; ++term) added_(term, root);
    }
  }
  is_partly_matched_ = false;
  return true;
}

int Saturation::depth_of_matches(const SideMatcher& m) const {
  return used_ ? std::max(m.matcher.depth(), m.matcher.depth_of_variables() + kDepthOfUse) : m.matcher.depth();
}

void Saturation::find_distances(int deepest) {
  const auto classes = static_cast<std::size_t>(graph_.added_terms());
  distances_.assign(classes, is_partly_matched_ ? 0 : deepest + 1);
  for (std::size_t root = 0; root < classes; ++root)
    if (graph_.has_changed(static_cast<int>(root))) distances_[root] = 0;
  graph_.clear_changes();
  for (int distance = 1; distance <= deepest && !is_partly_matched_; ++distance)
    for (std::size_t root = 0; root < classes; ++root) {
      int& own = distances_[root];
      if (own < distance || !graph_.is_root(static_cast<int>(root))) continue;
      for (const Member& m : graph_.members(static_cast<int>(root)))
        for (int i = 0; i < operands_of(m.node); ++i)
          if (distances_[static_cast<std::size_t>(m.node.in[static_cast<std::size_t>(i)].term)] == distance - 1) own = distance;
    }
  is_partly_matched_ = true;
}

}  // namespace tilewright::passes::search
