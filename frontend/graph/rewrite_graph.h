// Replaces a graph by an equal one that takes less time, before kernels are derived from it.
#pragma once
#include <memory>

#include "passes/fusion/options.h"
#include "runtime/plan/plan_search.h"
#include "tileir/graph/graph.h"
#include "tileir/target/target_desc.h"

namespace tilewright::detail {

struct RewrittenGraph {
  std::shared_ptr<const graph::Graph> graph;  // the one as written if nothing is rewritten
  PlanSearch search;
  bool is_rewritten() const { return !search.rewrites.empty(); }
};

/// Throws Error at `at` for limits that are none.
void check_search_limits(const SearchLimits&, const Location& at);

/// Searches a graph as the options say. Each part that is rewritten was compared with the part as written at small instances.
RewrittenGraph rewrite_graph(std::shared_ptr<const graph::Graph> written, const PlanOptions&, const passes::fusion::FusionOptions&,
                             const ir::TargetDesc&);

}  // namespace tilewright::detail
