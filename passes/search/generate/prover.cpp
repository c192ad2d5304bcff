// Equality saturation for proofs, and their replay by substitution.
#include "passes/search/generate/prover.h"

#include <fmt/format.h>

#include "passes/search/plain_terms.h"
#include "passes/search/rules/matcher.h"

namespace tilewright::passes::search {
namespace {

/// An application of a rule that was found in a round.
struct Found {
  Ref before, after;
  int rule;
};

/// Whether each variable of the other side is bound by this one.
bool binds_all(const Equation& e, int side) { return (variables_of(e.side(1 - side)) & ~variables_of(e.side(side))) == 0; }

class Saturation {
 public:
  Saturation(TermTable& terms, std::span<const Rule> rules) : terms_(terms), graph_(terms), rules_(rules) {
    for (std::size_t r = 0; r < rules.size(); ++r)
      for (int side = 0; side < 2; ++side)
        if (binds_all(rules[r].equation, side)) matchers_.push_back({Matcher(graph_, terms_, rules[r], side), static_cast<int>(r), side});
  }

  bool run(const Ref& left, const Ref& right, const ProverLimits& limits) {
    graph_.add_terms();
    for (int round = 0;; ++round) {
      if (graph_.are_equal(left, right)) return true;
      if (round == limits.rounds || graph_.nodes() > limits.nodes) return false;
      find(limits);
      graph_.add_terms();
      bool has_changed = false;
      for (const Found& f : found_) has_changed |= graph_.unite(f.before, f.after, f.rule);
      if (!has_changed) return false;
      graph_.rebuild();
    }
  }
  const EGraph& graph() const { return graph_; }

 private:
  struct SideMatcher {
    Matcher matcher;
    int rule, side;
  };

  void find(const ProverLimits& limits) {
    found_.clear();
    const int classes = graph_.added_terms();
    for (SideMatcher& m : matchers_) {
      const Rule& rule = rules_[static_cast<std::size_t>(m.rule)];
      for (int term = 0; term < classes; ++term) {
        if (!graph_.is_root(term)) continue;
        if (terms_.size() > classes + static_cast<int>(4 * limits.nodes)) return;
        m.matcher.at({term, slots_of(term)}, [&](const Match& match) {
          const Ref other = instantiate(terms_, rule.equation.side(1 - m.side), match.binding);
          if (!other) return;
          const bool is_known = other.term < classes && match.found.term < classes && graph_.are_equal(other, match.found);
          if (!is_known) found_.push_back({match.found, other, m.rule});
        });
      }
    }
  }
  Labels slots_of(int term) const {
    Labels slots = terms_.slots(term);
    for (int s = 0; s < slots.size(); ++s) slots[s] = static_cast<Label>(s);
    return slots;
  }

  TermTable& terms_;
  EGraph graph_;
  std::span<const Rule> rules_;
  std::vector<SideMatcher> matchers_;
  std::vector<Found> found_;
};

/// Everything that one application of a rule at one place makes of a term.
std::vector<Ref> rewrites(TermTable& terms, const PlainTerms& source, const Rule& rule, const Ref& r) {
  std::vector<Ref> results;
  for (int side = 0; side < 2; ++side) {
    if (!binds_all(rule.equation, side)) continue;
    Matcher(source, terms, rule, side).at(r, [&](const Match& m) {
      if (const Ref other = instantiate(terms, rule.equation.side(1 - side), m.binding)) results.push_back(other);
    });
  }
  const Node n = terms.node(r.term);
  const Labels slots = terms.slots(r.term);
  std::array<Label, kMaxLabels> renamed;
  renamed.fill(kNoLabel);
  Label next = 0;
  for (int s = 0; s < slots.size(); ++s) {
    renamed[slots[s]] = r.labels[s];
    next = std::max<Label>(next, r.labels[s] + 1);
  }
  for_labels(n, [&](Label l) {
    if (renamed[l] == kNoLabel) renamed[l] = next++;
  });
  const Node here = with_labels(n, [&](Label l) { return renamed[l]; });
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(n)); ++i)
    for (const Ref& operand : rewrites(terms, source, rule, here.in[i])) {
      Node changed = here;
      changed.in[i] = operand;
      results.push_back(terms.insert(changed));
    }
  return results;
}

bool is_step(TermTable& terms, const Rule& rule, const Ref& from, const Ref& to) {
  const PlainTerms source(terms);
  const auto leads = [&](const Ref& a, const Ref& b) {
    const std::vector<Ref> made = rewrites(terms, source, rule, a);
    return std::find(made.begin(), made.end(), b) != made.end();
  };
  return leads(from, to) || leads(to, from);
}

constexpr Sizes kReplaySizes[] = {{2, 1, 2, 21}, {3, 2, 3, 22}};

}  // namespace

bool is_entailed(const TermTable& terms, const Ref& left, const Ref& right, std::span<const Rule> rules, const ProverLimits& limits) {
  TermTable own;
  const Ref a = copy(terms, left, own), b = copy(terms, right, own);
  return Saturation(own, rules).run(a, b, limits);
}

std::optional<Proof> prove(const TermTable& terms, const Ref& left, const Ref& right, std::span<const Rule> rules,
                           const ProverLimits& limits) {
  Proof proof;
  proof.start = copy(terms, left, proof.terms);
  const Ref end = copy(terms, right, proof.terms);
  Saturation saturation(proof.terms, rules);
  if (!saturation.run(proof.start, end, limits)) return std::nullopt;
  auto steps = Explainer(saturation.graph(), proof.terms).explain(proof.start, end);
  if (!steps) return std::nullopt;
  proof.steps = std::move(*steps);
  return proof;
}

std::optional<std::size_t> wrong_step(const Proof& proof, const Ref& end, std::span<const Rule> rules) {
  TermTable terms = proof.terms;
  Ref at = proof.start;
  for (std::size_t i = 0; i < proof.steps.size(); ++i) {
    const ProofStep& s = proof.steps[i];
    if (!is_step(terms, rules[static_cast<std::size_t>(s.rule)], at, s.term)) return i;
    for (const Sizes& sizes : kReplaySizes) {
      Residues values(terms, sizes);
      if (values.of(at) != values.of(s.term)) return i;
    }
    at = s.term;
  }
  return at == end ? std::nullopt : std::optional(proof.steps.size());
}

std::string text(const Proof& proof, std::span<const Rule> rules) {
  // The variables keep the letters that they have in the first term.
  const auto formula = [&](const Ref& r) {
    const Equation e = without_labels(proof.terms, proof.start.term, r.term);
    return text(e.right, e.variables);
  };
  std::string out = fmt::format("    {}\n", formula(proof.start));
  for (const ProofStep& s : proof.steps)
    out += fmt::format("  = {:<60} {}\n", formula(s.term), rules[static_cast<std::size_t>(s.rule)].name);
  return out;
}

}  // namespace tilewright::passes::search
