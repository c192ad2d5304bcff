// Walks the forest of reasons.
#include "passes/search/generate/explanation.h"

namespace tilewright::passes::search {

std::vector<Explainer::Edge> Explainer::path_up(const Ref& r) const {
  std::vector<Edge> path;
  for (Ref at = r; graph_.reason(at.term).to;) {
    const EGraph::Reason& reason = graph_.reason(at.term);
    Ref next{reason.to.term, {}};
    for (Label slot : reason.to.labels) next.labels.push_back(at.labels[slot]);
    path.push_back({at, next, reason.rule});
    at = next;
  }
  return path;
}

std::optional<std::vector<ProofStep>> Explainer::explain(const Ref& from, const Ref& to) {
  std::vector<Edge> up = path_up(from), down = path_up(to);
  // Both paths end at the root of one tree; what they have in common there is left out.
  while (!up.empty() && !down.empty() && up.back().from.term == down.back().from.term) up.pop_back(), down.pop_back();
  const Ref &left = up.empty() ? from : up.back().to, &right = down.empty() ? to : down.back().to;
  if (!(left == right)) return std::nullopt;
  std::vector<ProofStep> steps;
  for (const Edge& e : up)
    if (!explain_edge(e, steps)) return std::nullopt;
  for (std::size_t i = down.size(); i-- > 0;)
    if (!explain_edge({down[i].to, down[i].from, down[i].rule}, steps)) return std::nullopt;
  return steps;
}

bool Explainer::explain_edge(const Edge& e, std::vector<ProofStep>& steps) {
  if (e.rule == kCongruence) return explain_congruence(e.from, e.to, steps);
  steps.push_back({e.rule, e.to});
  return true;
}

bool Explainer::explain_congruence(const Ref& from, const Ref& to, std::vector<ProofStep>& steps) {
  const Node a = terms_.node(from.term), b = terms_.node(to.term);
  const CanonicalNode normal_a = graph_.normal(from.term), normal_b = graph_.normal(to.term);
  if (!(normal_a.node == normal_b.node)) return false;

  // Labels of the proof by canonical label: those of `from`, and fresh ones for what the nodes sum.
  std::array<Label, kMaxLabels> here;
  here.fill(kNoLabel);
  const Labels slots_a = terms_.slots(from.term), slots_b = terms_.slots(to.term);
  Label next = 0;
  for (int s = 0; s < slots_a.size(); ++s) {
    here[normal_a.renamed[slots_a[s]]] = from.labels[s];
    next = std::max<Label>(next, from.labels[s] + 1);
  }
  for (int s = 0; s < slots_b.size(); ++s)
    if (here[normal_b.renamed[slots_b[s]]] != to.labels[s]) return false;
  for_labels(normal_a.node, [&](Label l) {
    if (here[l] == kNoLabel) here[l] = next++;
  });

  const auto in_proof = [&](const Node& n, const CanonicalNode& normal) {
    Node m = with_labels(n, [&](Label l) { return here[normal.renamed[l]]; });
    const Ref first = graph_.find(m.in[0]);
    Node expected = with_labels(normal.node, [&](Label l) { return here[l]; });
    if (is_commutative(n.op) && !(first == expected.in[0])) std::swap(m.in[0], m.in[1]);
    return m;
  };
  Node at = in_proof(a, normal_a);
  const Node target = in_proof(b, normal_b);
  for (std::size_t i = 0; i < static_cast<std::size_t>(operands_of(a)); ++i) {
    const auto inner = explain(at.in[i], target.in[i]);
    if (!inner) return false;
    for (const ProofStep& s : *inner) {
      at.in[i] = s.term;
      steps.push_back({s.rule, terms_.insert(at)});
    }
  }
  return terms_.insert(at) == to;
}

}  // namespace tilewright::passes::search
