// The graphs that equal a region, and the cheapest of them by the cost of nodes.
//
// Most regions saturate with a few nodes for each term. The others, such as steps of conjugate gradients, grow with each round, and mostly
// no cheaper graph is found. So the limit of nodes is at first a multiple of the terms of the region, and it is raised only as long as a
// higher limit finds a cheaper graph. Products with a common factor are merged in the end, because merging makes no further rules apply. If
// a limit of nodes or rounds ends the saturation although graphs became cheaper, or if SearchOptions::nodes are fewer, backtracking
// continues.
#pragma once
#include <memory>

#include "passes/search/choose/search_options.h"
#include "passes/search/extract/extract.h"
#include "passes/search/saturate/saturate.h"

namespace tilewright::passes::search {

class SaturatedRegion {
 public:
  /// Keeps the references.
  SaturatedRegion(const graph::Graph&, const SearchOptions&, const ir::TargetDesc&);

  /// Other regions of the same structure have the same nodes.
  GraphTerms& terms() { return *terms_; }
  const EGraph& classes() const { return saturated_->classes(); }
  bool is_complete() const { return saturated_->is_complete(); }
  const Extraction& cheapest() const { return cheapest_; }
  /// By the costs of nodes: how many times as fast the cheapest graph is.
  double gain_by_nodes() const { return cheapest_.best.empty() ? 1 : cheapest_.seconds_written / cheapest_.best[0].seconds; }
  const RefusedRules& refused() const { return saturated_->refused(); }
  /// Whether a rule made a formula that the region as written does not have.
  bool has_other_formulas() const { return terms_->terms.size() > written_terms_; }

 private:
  void saturate();
  double find_cheapest();

  const graph::Graph& graph_;
  const SearchOptions& options_;
  const ir::TargetDesc& target_;
  std::unique_ptr<GraphTerms> terms_;
  int written_terms_ = 0;
  std::unique_ptr<SaturatedGraph> saturated_;
  Extraction cheapest_;
};

}  // namespace tilewright::passes::search
