// Proofs out of an e-graph: the path between two terms in its forest of reasons, as a chain of terms.
#pragma once
#include <optional>

#include "passes/search/egraph.h"

namespace tilewright::passes::search {

/// A rule rewrites one subterm of the term before, and so makes this one.
struct ProofStep {
  int rule = 0;
  Ref term;
};

struct Proof {
  TermTable terms;
  Ref start;
  std::vector<ProofStep> steps;
};

/// The steps from one term of an e-graph to another of the same class, each with a rule.
///
///   1. explain: follows the forest from both terms to where the paths meet.
///   2. explain_congruence: an edge of congruence is the steps of the operands, one operand after the other, inside of the node.
class Explainer {
 public:
  Explainer(const EGraph& graph, TermTable& terms) : graph_(graph), terms_(terms) {}
  /// None if the path would need that a class equals itself with exchanged axes.
  std::optional<std::vector<ProofStep>> explain(const Ref& from, const Ref& to);

 private:
  struct Edge {
    Ref from, to;
    int rule;
  };
  std::vector<Edge> path_up(const Ref&) const;
  bool explain_edge(const Edge&, std::vector<ProofStep>&);
  bool explain_congruence(const Ref& from, const Ref& to, std::vector<ProofStep>&);

  const EGraph& graph_;
  TermTable& terms_;
};

}  // namespace tilewright::passes::search
