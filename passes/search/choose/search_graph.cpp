// Searches regions by their structure.
#include "passes/search/choose/search_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "passes/search/regions/divide.h"
#include "passes/search/regions/join.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;

struct SearchedRegion {
  RegionOutcome outcome;
  const Region* first = nullptr;
  std::vector<const Region*> others;
};

/// The nodes of another region of the same structure.
void add_covers(const Region& first, const Region& other, std::vector<NodeId>& covers) {
  std::map<NodeId, NodeId> there;
  for (std::size_t i = 0; i < first.origins.size(); ++i) there.emplace(first.origins[i], other.origins[i]);
  for (std::size_t i = 0, count = covers.size(); i < count; ++i)
    if (const auto same = there.find(covers[i]); same != there.end()) covers.push_back(same->second);
}

void report(const SearchedRegion& r, SearchResult& result) {
  for (const Rewriting& own : r.outcome.rewritings) {
    Rewriting all = own;
    for (const Region* other : r.others) {
      std::vector<NodeId> covers = own.covers;
      add_covers(*r.first, *other, covers);
      all.covers.insert(all.covers.end(), covers.begin() + static_cast<std::ptrdiff_t>(own.covers.size()), covers.end());
    }
    all.saved_seconds *= static_cast<double>(1 + r.others.size());
    result.rewritings.push_back(std::move(all));
  }
  result.not_done.insert(result.not_done.end(), r.outcome.not_done.begin(), r.outcome.not_done.end());
  if (!r.outcome.unchanged.empty()) result.unchanged.push_back(r.outcome.unchanged);
  result.nodes += r.outcome.nodes;
  result.candidates += r.outcome.candidates;
  result.is_complete = result.is_complete && r.outcome.is_complete;
  result.is_optimal = result.is_optimal && r.outcome.is_optimal;
  result.is_measured = result.is_measured || r.outcome.is_measured;
}

/// Whether the whole graph takes less time with all that was rewritten: kernels may reach from one region to the next. Sets the seconds.
bool gains(const graph::Graph& written, const graph::Graph& joined, const SearchOptions& options, const Judge& judge,
           SearchResult& result) {
  if (result.is_measured) {
    const std::vector<graph::Graph> both = {written, joined};
    if (const std::optional<Measurement> m = judge.measure(both)) {
      result.seconds_before = m->seconds_written;
      result.seconds_after = m->seconds;
      return m->fastest == 1;
    }
    result.is_measured = false;
  }
  const std::optional<SearchEstimate> before = judge.estimate(written);
  if (!before) return false;
  std::optional<double> after = judge.derive ? judge.derive(joined) : std::nullopt;
  if (!after)
    if (const std::optional<SearchEstimate> e = judge.estimate(joined)) after = e->seconds;
  if (!after) return false;
  result.seconds_before = before->seconds;
  result.seconds_after = *after;
  return options.gain < 1 || *after < before->seconds;
}

}  // namespace

SearchResult search_graph(const graph::Graph& written, const SearchOptions& options, const ir::TargetDesc& target, const Judge& judge) {
  SearchResult result;
  const std::vector<Region> regions = divide(written);
  std::map<std::string, SearchedRegion> searched;
  std::vector<SearchedRegion*> in_order;
  SearchOptions rest = options;
  for (const Region& r : regions) {
    const auto [at, is_new] = searched.try_emplace(r.structure);
    if (!is_new) {
      at->second.others.push_back(&r);
      continue;
    }
    at->second.first = &r;
    in_order.push_back(&at->second);
    at->second.outcome = search_region(written, r, rest, target, judge);
    rest.nodes -= std::min(rest.nodes, at->second.outcome.nodes);
  }
  result.regions = searched.size();
  for (const SearchedRegion* r : in_order) report(*r, result);
  std::stable_sort(result.rewritings.begin(), result.rewritings.end(),
                   [](const Rewriting& a, const Rewriting& b) { return a.saved_seconds > b.saved_seconds; });
  if (regions.size() == 1 && (result.is_measured || !result.rewritings.empty())) {
    result.seconds_before = in_order[0]->outcome.seconds_before;
    result.seconds_after = in_order[0]->outcome.seconds_after;
  }
  if (result.rewritings.empty()) return result;

  std::deque<graph::Graph> made;
  std::vector<const graph::Graph*> replacements;
  for (const Region& r : regions) {
    const SearchedRegion& own = searched.at(r.structure);
    replacements.push_back(own.outcome.rewrite ? &made.emplace_back(own.outcome.rewrite(r)) : nullptr);
  }
  graph::Graph joined = join(written, regions, replacements);
  if (regions.size() > 1 && !gains(written, joined, options, judge, result)) {
    result.rewritings.clear();
    result.seconds_after = result.seconds_before;
    result.not_done.emplace_back("all of it: the whole graph takes no less time than as written");
    return result;
  }
  result.graph = std::move(joined);
  return result;
}

}  // namespace tilewright::passes::search
