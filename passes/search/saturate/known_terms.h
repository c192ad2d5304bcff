// Finds the terms that are known before a run: those of constants and parameters alone.
#pragma once
#include "passes/search/graph/graph_terms.h"
#include "passes/search/saturate/term_fact.h"

namespace tilewright::passes::search {

class KnownTerms : public TermFact {
 public:
  /// Keeps the references.
  KnownTerms(const graph::Graph& written, const GraphTerms& all) : TermFact(all.terms), written_(written), all_(all) {}

 private:
  bool follows(const Node&) override;
  bool is_known_leaf(const Leaf&) const;

  const graph::Graph& written_;
  const GraphTerms& all_;
};

}  // namespace tilewright::passes::search
