// Finds the graphs that equal a graph: applies the rules to its terms until nothing changes.
//
// Six guards keep the e-graph small:
//
//   1. Terms that are known before a run are not searched: rules at the terms that read them make products of parameters.
//   2. A side of one op is only added, since it would be found everywhere (search_directions).
//   3. Functions do not go through parts: no rule has a part but around a cat, and kernels are the same either way.
//   4. Neutral moves are not made (rule_guards.h): fusion makes the same kernels either way.
//   5. Terms that are computed element by element from leaves are not searched either (kernel_terms.h): they are part of the kernels that read them.
//   6. Limits are counts: a graph has the same e-graph on a busy machine.
#pragma once
#include "passes/search/egraph.h"
#include "passes/search/graph/graph_terms.h"
#include "passes/search/rules/saturation.h"
#include "passes/search/saturate/rule_guards.h"

namespace tilewright::passes::search {

class SaturatedGraph {
 public:
  /// Adds terms to those of the graph.
  SaturatedGraph(const graph::Graph& written, GraphTerms&, const SearchLimits& = {});

  /// Unites terms of the table of this graph.
  void add(std::span<const Saturation::Application> applications) { saturation_.add(applications); }
  /// Adds graphs that rules made of the graph as written. `terms`: a table that begins with the terms as written.
  void add(const GraphTerms& terms, std::span<const Saturation::Application>);

  const EGraph& classes() const { return saturation_.graph(); }
  bool is_complete() const { return is_complete_; }
  int rounds() const { return saturation_.rounds(); }
  const RefusedRules& refused() const { return refused_; }

 private:
  GraphTerms& all_;
  const int written_terms_;
  Saturation saturation_;
  bool is_complete_ = false;
  RefusedRules refused_;
};

}  // namespace tilewright::passes::search
