// Searches equal graphs one by one, the cheapest first: the search of TASO (Jia et al., 2019). With alpha above 1 it is the relaxed search
// of MetaFlow (Jia et al., 2019), which also goes through graphs that cost more for a while.
//
//   1. take: the cheapest graph of the queue; of equal ones the newest, since many rules change no cost.
//   2. change: one rule is applied to one of its terms, wherever the graph has that term. This is done for all of its terms and all rules.
//   3. keep: graphs that are new, and cost at most alpha times as much as the best one so far, enter the queue.
//
// Rules, guards and costs are those of saturation and extraction. An e-graph holds all these graphs at once. So this search is for regions
// whose saturation stops at a limit, and for tests that compare the two. Limits are counts.
#pragma once
#include "passes/search/graph/graph_terms.h"
#include "passes/search/saturate/rule_guards.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::search {

struct BacktrackLimits {
  double alpha = 1.05;
  std::size_t graphs = 300;         // graphs that are changed
  std::uint64_t steps = 5'000'000;  // terms that are visited, in all graphs
  SearchLimits rules = {};          // the guards of saturation
};

struct BacktrackedGraph {
  GraphTerms terms;                           // the terms of all graphs, after those as written; `values` are those of the cheapest graph
  std::vector<Saturation::Application> path;  // from the graph as written to the cheapest one
  double seconds = 0, seconds_written = 0;
  std::size_t changed = 0, made = 0;  // graphs
  bool is_complete = false;           // the queue became empty
};

/// `terms`: those of the graph as written.
BacktrackedGraph backtrack(const graph::Graph& written, const GraphTerms& terms, const ir::TargetDesc&, const BacktrackLimits& = {});

}  // namespace tilewright::passes::search
