// Raises the limit of nodes.
#include "passes/search/choose/saturated_region.h"

#include <algorithm>
#include <cmath>

#include "passes/search/backtrack/backtrack.h"
#include "passes/search/extract/merge_products.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/thresholds.h"

namespace tilewright::passes::search {

SaturatedRegion::SaturatedRegion(const graph::Graph& g, const SearchOptions& options, const ir::TargetDesc& target)
    : graph_(g), options_(options), target_(target) {
  saturate();
  const auto merges = merged_products(g, *terms_, classes(), {g, *terms_, target});
  if (merges.empty()) return;
  saturated_->add(merges);
  find_cheapest();
}

double SaturatedRegion::find_cheapest() {
  cheapest_ = extract(graph_, *terms_, classes(), target_,
                      {.graphs = options_.candidates, .neutral = options_.neutral_moves, .steps = kStepsOfNode * classes().nodes()});
  return cheapest_.best.empty() ? cheapest_.seconds_written : cheapest_.best[0].seconds;
}

void SaturatedRegion::saturate() {
  SearchLimits limits{.nodes = options_.nodes,
                      .expand_differences = options_.expand_differences,
                      .neutral_moves = options_.neutral_moves,
                      .move_rounding = options_.move_rounding,
                      .all_types = options_.all_types};
  double least = HUGE_VAL;
  const auto is_cheaper_than = [&](double seconds) { return least < seconds * (1 - kLeastGainOfNodes); };
  for (std::size_t most = 0;; most *= kGrowthOfNodes) {
    terms_ = std::make_unique<GraphTerms>(graph_to_terms(graph_));
    written_terms_ = terms_->terms.size();
    if (most == 0) most = options_.neutral_moves ? options_.nodes : kNodesOfTerm * static_cast<std::size_t>(terms_->terms.size());
    limits.nodes = std::min(most, options_.nodes);
    saturated_ = std::make_unique<SaturatedGraph>(graph_, *terms_, limits);
    const double before = least;
    least = find_cheapest();
    if (is_complete()) return;
    if (limits.nodes == options_.nodes || !is_cheaper_than(std::min(before, cheapest_.seconds_written))) break;
  }
  if (limits.nodes < options_.nodes && !is_cheaper_than(cheapest_.seconds_written)) return;
  limits.nodes = options_.nodes;
  const BacktrackedGraph other = backtrack(graph_, graph_to_terms(graph_), target_, {.rules = limits});
  saturated_->add(other.terms, other.path);
  find_cheapest();
}

}  // namespace tilewright::passes::search
