// Finds the terms that are known before a run: those of constants and parameters alone.
#pragma once
#include <vector>

#include "passes/search/egraph.h"
#include "passes/search/graph/graph_terms.h"

namespace tilewright::passes::search {

class KnownTerms {
 public:
  KnownTerms(const graph::Graph& written, const GraphTerms& all) : written_(written), all_(all) {}

  bool is_known(int term);
  /// Whether a term of the class is known. Requires: `update` after the classes have changed.
  bool is_known_class(int root) const { return classes_[static_cast<std::size_t>(root)]; }
  void update(const EGraph&);

 private:
  bool is_known_leaf(const Leaf&) const;

  const graph::Graph& written_;
  const GraphTerms& all_;
  std::vector<bool> terms_, classes_;  // by term
};

}  // namespace tilewright::passes::search
