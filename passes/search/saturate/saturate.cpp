// Saturation under the guards of rules.
#include "passes/search/saturate/saturate.h"

#include "passes/search/rules/search_rules.h"
#include "passes/search/saturate/diagonals.h"
#include "passes/search/saturate/kernel_terms.h"
#include "passes/search/saturate/known_terms.h"

namespace tilewright::passes::search {

SaturatedGraph::SaturatedGraph(const graph::Graph& written, GraphTerms& all, const SearchLimits& limits)
    : all_(all), written_terms_(all.terms.size()), saturation_(all.terms, search_rules(), search_directions(search_rules())) {
  saturation_.add(sums_of_diagonals(all_));
  const RuleGuards guards(all_, classes(), limits);
  KnownTerms known(written, all);
  KernelTerms kernels(all.terms);
  int updated = -1;  // the round in which the known classes and the classes with kernels were last updated
  saturation_.search_where([&](const Direction& d, int root) {
    if (updated != rounds()) known.update(classes()), kernels.update(classes()), updated = rounds();
    if (known.holds_in_class(root) || !(limits.neutral_moves || kernels.holds_in_class(root))) return false;
    return guards.may_apply(d, all_.terms.node(root).element);
  });
  saturation_.use_if([&](const Direction& d, const Match& m) { return guards.may_use(d, m); });
  saturation_.on_added([&](int, int root) { all_.origins.push_back(all_.origins[static_cast<std::size_t>(root)]); });
  is_complete_ = saturation_.run({limits.nodes, limits.rounds}, [] { return false; }) == Saturation::Outcome::complete;
  refused_ = guards.refused();
}

void SaturatedGraph::add(const GraphTerms& terms, std::span<const Saturation::Application> applications) {
  // By term of the other table: the term here, in labels that are the slots there.
  std::vector<Ref> here;
  std::vector<bool> is_needed(static_cast<std::size_t>(terms.terms.size()));
  for (const auto& a : applications)
    is_needed[static_cast<std::size_t>(a.before.term)] = is_needed[static_cast<std::size_t>(a.after.term)] = true;
  for (int term = terms.terms.size() - 1; term >= written_terms_; --term)
    for (const Ref& r : terms.terms.node(term).in)
      if (r && is_needed[static_cast<std::size_t>(term)]) is_needed[static_cast<std::size_t>(r.term)] = true;
  const auto translated = [&](const Ref& r) {
    Ref result{here[static_cast<std::size_t>(r.term)].term, {}};
    for (Label l : here[static_cast<std::size_t>(r.term)].labels) result.labels.push_back(r.labels[l]);
    return result;
  };
  for (int term = 0; term < terms.terms.size(); ++term) {
    const Labels slots = terms.terms.slots(term);
    Ref& own = here.emplace_back();
    if (term >= written_terms_ && !is_needed[static_cast<std::size_t>(term)]) continue;
    if (term < written_terms_) {
      own.term = term;
      for (int s = 0; s < slots.size(); ++s) own.labels.push_back(static_cast<Label>(s));
      continue;
    }
    Node n = terms.terms.node(term);
    for (int i = 0; i < operands_of(n); ++i) n.in[static_cast<std::size_t>(i)] = translated(n.in[static_cast<std::size_t>(i)]);
    const Ref made = all_.terms.insert(n);
    own.term = made.term;
    for (Label l : made.labels) own.labels.push_back(static_cast<Label>(slots.slot_of(l)));
    all_.origins.resize(static_cast<std::size_t>(all_.terms.size()), terms.origins[static_cast<std::size_t>(term)]);
  }
  std::vector<Saturation::Application> own;
  for (const auto& a : applications) own.push_back({translated(a.before), translated(a.after), a.rule});
  saturation_.add(own);
}

}  // namespace tilewright::passes::search
