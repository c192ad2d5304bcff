// Searches a graph: the entry of the search.
//
//   1. divide: the graph becomes regions (regions/divide.h).
//   2. search_region: each region is searched; equal ones once (choose/search_region.h).
//   3. join: the whole graph is made of the regions that were rewritten and of those that were not (regions/join.h).
#pragma once
#include "passes/search/choose/search_region.h"

namespace tilewright::passes::search {

struct SearchResult {
  std::optional<graph::Graph> graph;  // the chosen graph, with the same inputs and outputs; none: the graph as written
  std::vector<Rewriting> rewritings;  // the rewritings of equal regions count once, with what all of them save
  std::vector<std::string> not_done;
  std::vector<std::string> unchanged;            // results of regions of whose other graphs none is compared, and why
  double seconds_before = 0, seconds_after = 0;  // the seconds of the whole graph; 0 if nothing was estimated
  std::size_t regions = 0, nodes = 0, candidates = 0;
  bool is_complete = true, is_optimal = true;
  bool is_measured = false;  // graphs were run, and the seconds are those of runs
};

/// Nodes of the result are those of the written graph.
SearchResult search_graph(const graph::Graph& written, const SearchOptions&, const ir::TargetDesc&, const Judge&);

}  // namespace tilewright::passes::search
