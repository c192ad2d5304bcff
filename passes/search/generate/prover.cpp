// Equality saturation for proofs, and their replay by substitution.
#include "passes/search/generate/prover.h"

#include <fmt/format.h>

#include "passes/search/plain_terms.h"

namespace tilewright::passes::search {
namespace {

/// Both directions of all rules.
std::vector<Direction> both_directions(std::span<const Rule> rules) {
  std::vector<Direction> all;
  for (std::size_t r = 0; r < rules.size(); ++r)
    for (int side = 0; side < 2; ++side)
      if (binds_all(rules[r].equation, side)) all.push_back({static_cast<int>(r), side});
  return all;
}

/// Puts both terms into the e-graph, and applies rules until they are in one class.
Saturation::Outcome unite(Saturation& saturation, const Ref& left, const Ref& right, const ProverLimits& limits) {
  return saturation.run(limits, [&] { return saturation.graph().are_equal(left, right); });
}

/// All terms that one application of a rule to one subterm makes of a term.
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
  Saturation saturation(own, rules, both_directions(rules));
  return unite(saturation, a, b, limits) == Saturation::Outcome::reached;
}

ProofSearch prove(const TermTable& terms, const Ref& left, const Ref& right, std::span<const Rule> rules, const ProverLimits& limits) {
  Proof proof;
  proof.start = copy(terms, left, proof.terms);
  const Ref end = copy(terms, right, proof.terms);
  Saturation saturation(proof.terms, rules, both_directions(rules));
  ProofSearch search;
  search.outcome = unite(saturation, proof.start, end, limits);
  search.rounds = saturation.rounds();
  search.nodes = saturation.graph().nodes();
  if (search.outcome != Saturation::Outcome::reached) return search;
  if (auto steps = Explainer(saturation.graph(), proof.terms).explain(proof.start, end)) {
    proof.steps = std::move(*steps);
    search.proof = std::move(proof);
  }
  return search;
}

std::string text(const ProofSearch& search, std::size_t laws) {
  const auto count = [](std::size_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); };
  const std::string after =
      fmt::format("after {}, with {}", count(static_cast<std::size_t>(search.rounds), "round"), count(search.nodes, "node"));
  switch (search.outcome) {
    case Saturation::Outcome::reached:
      return fmt::format("{} make the sides equal {}{}", count(laws, "law"), after, search.proof ? "" : ", but not as a list of steps");
    case Saturation::Outcome::complete: return fmt::format("{} lead to nothing new {}", count(laws, "law"), after);
    case Saturation::Outcome::limited: return fmt::format("{} do not make the sides equal up to the limit, {}", count(laws, "law"), after);
  }
  return {};
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
