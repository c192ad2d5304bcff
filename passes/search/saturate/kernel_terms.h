// Finds the terms that contain a sum. A term that is computed element by element from leaves stays as it is written: fusion computes it
// wherever it is read, in any order.
#pragma once
#include "passes/search/saturate/term_fact.h"

namespace tilewright::passes::search {

/// Holds for a product or a sum that sums over an axis, and for what is computed from one. Rules do not go through other reductions.
class KernelTerms : public TermFact {
 public:
  explicit KernelTerms(const TermTable& terms) : TermFact(terms) {}

 private:
  bool follows(const Node&) override;
};

}  // namespace tilewright::passes::search
