// Searches one region: finds equal graphs, and chooses the fastest one by the estimate of its kernels.
//
//   1. extract: the cheapest graphs that the rules make, by the costs of nodes, which are only good enough to propose graphs.
//   2. estimate: each of them by its kernels, and the region as written.
//   3. choose: the fastest one, if it is `gain` times as fast as written, and at most two launches slower where symbols have their
//      least values or great ones.
//   4. drop_pieces: pieces of it that gain nothing are computed as written again.
//   5. compare: its results must be those of the region as written at small instances; else the next one is tried.
//
// With Judge::measure, choose_measured replaces step 3: it compares the best graphs by their estimates that pass step 5, and the region as
// written, and chooses the one that is the fastest on the device. A run has one value of each symbol, so the estimate still excludes graphs
// that are slower at other values.
#pragma once
#include <string>
#include <vector>

#include "passes/search/choose/rewriting.h"
#include "passes/search/choose/search_options.h"
#include "passes/search/regions/region.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::search {

struct RegionOutcome {
  /// The graph for a region of this structure, with its names and lines; none if it stays as written.
  std::function<graph::Graph(const Region&)> rewrite;
  std::vector<Rewriting> rewritings;
  std::vector<std::string> not_done;             // reasons, with the formulas that they are about
  std::string unchanged;                         // why none of the graphs that the rules give is compared; empty if one is
  double seconds_before = 0, seconds_after = 0;  // 0 if nothing was estimated
  std::size_t nodes = 0, candidates = 0;         // nodes of the e-graph, and graphs that were estimated besides the graph as written
  bool is_complete = true, is_optimal = true;
  bool is_measured = false;  // the seconds are those of runs
};

/// `whole`: the graph that the region is a part of, for names.
RegionOutcome search_region(const graph::Graph& whole, const Region&, const SearchOptions&, const ir::TargetDesc&, const Judge&);

}  // namespace tilewright::passes::search
