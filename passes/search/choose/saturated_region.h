// The graphs that equal a region, and the cheapest of them by the cost of nodes.
//
// Most regions saturate with a few nodes for each term. The others, such as steps of conjugate gradients, grow with each round, and mostly without
// a cheaper graph. So the limit of nodes is a multiple of the terms of the region at first, and is raised only while a higher one finds a cheaper
// graph. Products with a common factor are merged in the end, which leads to no others. Where nodes or rounds end before the rules do, but graphs became cheaper, backtracking goes on; also where SearchOptions::nodes are fewer.
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

 private:
  void saturate();
  double find_cheapest();

  const graph::Graph& graph_;
  const SearchOptions& options_;
  const ir::TargetDesc& target_;
  std::unique_ptr<GraphTerms> terms_;
  std::unique_ptr<SaturatedGraph> saturated_;
  Extraction cheapest_;
};

}  // namespace tilewright::passes::search
