// Replaces a graph by an equal one that takes less time, before kernels are derived from it.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "passes/fusion/options.h"
#include "passes/search/choose/search_options.h"
#include "runtime/plan/plan_search.h"
#include "tileir/graph/graph.h"
#include "tileir/target/target_desc.h"

namespace tilewright::detail {

struct RewrittenGraph {
  std::shared_ptr<const graph::Graph> graph;  // the one as written if nothing is rewritten
  PlanSearch search;
  bool is_rewritten() const { return !search.rewrites.empty(); }
};

/// Throws Error at `at` for a value of Search that is not an enumerator, and for limits outside of their ranges.
void check_search_options(const PlanOptions&, const Location& at);

using MeasureGraphs = std::function<std::optional<passes::search::Measurement>(std::span<const graph::Graph>)>;

/// Derives the kernels of a graph and keeps them; the seconds that they take by the estimate, if it is known.
using DeriveGraph = std::function<std::optional<double>(const graph::Graph&)>;

/// Searches a graph as the options say. Each part that is rewritten was compared with the part as written at small instances. `measure`: for
/// Search::measure. If `derive` is called and the result is rewritten, the last graph that it got is the result.
RewrittenGraph rewrite_graph(const std::shared_ptr<const graph::Graph>& written, const PlanOptions&, const passes::fusion::FusionOptions&,
                             const ir::TargetDesc&, const MeasureGraphs& measure, const DeriveGraph& derive = {});

}  // namespace tilewright::detail
