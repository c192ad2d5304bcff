// Has the search ask fusion what graphs cost, and whether they are equal.
#include "frontend/graph/rewrite_graph.h"

#include <fmt/format.h>

#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/derivation_failed.h"
#include "passes/fusion/sequence/estimate_graph.h"
#include "passes/fusion/tensor_names.h"
#include "passes/search/choose/search_graph.h"
#include "runtime/plan/node_names.h"
#include "tileir/target/machine_facts.h"
#include "tilewright/detail/enumerator.h"

namespace tilewright::detail {

namespace fusion = passes::fusion;
namespace search = passes::search;

namespace {

/// How values of one graph differ at small instances. What is not compared there is not known to be equal.
std::optional<std::string> difference(const graph::Graph& g, std::span<const search::EqualValues> values) {
  std::vector<graph::NodeId> nodes;
  std::vector<fusion::RewrittenValue> pairs;
  for (const search::EqualValues& v : values) pairs.push_back({v.written, v.rewritten});
  for (const search::EqualValues& v : values) nodes.push_back(v.written);
  for (const search::EqualValues& v : values) nodes.push_back(v.rewritten);
  try {
    const fusion::ProofResult result =
        fusion::within_fractions([&] { return fusion::InstanceCheck(g).run(fusion::AxisAnalysis(g, nodes, {}), pairs); });
    if (result.is_refuted) return result.text;
    if (!result.left_open.empty()) return result.left_open.front();
  } catch (const fusion::DerivationFailed& why) {
    return "the values are not compared, because " + why.reason;
  }
  return std::nullopt;
}

SearchReport report_of(const search::SearchResult& r) {
  return {.regions = r.regions,
          .nodes = r.nodes,
          .candidates = r.candidates,
          .complete = r.is_complete,
          .optimal = r.is_optimal,
          .measured = r.is_measured,
          .seconds_before = r.seconds_before,
          .seconds_after = r.seconds_after};
}

/// The option with which nothing is rewritten; null if there is none.
const char* why_not(const PlanOptions& o) {
  if (!o.fuse) return "PlanOptions::fuse is false: each node is a kernel of its own";
  if (!o.reassociate) return "PlanOptions::reassociate is false: sums keep their order";
  if (o.batch_invariant) return "PlanOptions::batch_invariant is true: estimates depend on the number of rows";
  return nullptr;
}

}  // namespace

void check_search_options(const PlanOptions& o, const Location& at) {
  const SearchLimits& limits = o.search_limits;
  const std::string mistake = detail::enumerator_mistake("search", o.search, Search::measure, "Search");
  if (!mistake.empty()) throw Error(at, "compile: " + mistake);
  if (limits.nodes < 1) throw Error(at, "compile: search_limits.nodes is 0; at least 1 is needed");
  if (limits.candidates < 1) throw Error(at, "compile: search_limits.candidates is 0; at least 1 is needed");
  if (!(limits.gain >= 0)) throw Error(at, fmt::format("compile: search_limits.gain is {}; it must be 0 or more", limits.gain));
}

RewrittenGraph rewrite_graph(const std::shared_ptr<const graph::Graph>& written, const PlanOptions& o, const fusion::FusionOptions& options,
                             const ir::TargetDesc& target, const MeasureGraphs& measure, const DeriveGraph& derive) {
  RewrittenGraph result{written, {}};
  if (o.search == Search::off) return result;
  if (const char* why = why_not(o)) {
    result.search.is_on = true;
    result.search.not_done.push_back(fmt::format("all of it: {}", why));
    return result;
  }
  fusion::GraphEstimator estimate(options, target);
  const search::Judge judge{.estimate = [&](const graph::Graph& g) -> std::optional<search::SearchEstimate> {
                              const auto e = estimate(g);
                              if (!e) return std::nullopt;
                              return search::SearchEstimate{e->seconds, e->seconds_if_small, e->seconds_if_large, e->kernels};
                            },
                            .difference = difference,
                            .measure = o.search == Search::measure ? measure : MeasureGraphs(),
                            .formulas = [&](const graph::Graph& g) { return estimate.formulas(g); },
                            .derive = derive,
                            .name_of = [names = fusion::TensorNames(*written)](graph::NodeId n) { return names.of(n); }};
  const ir::MachineFacts facts = ir::machine_facts(target);
  search::SearchResult found = search::search_graph(*written,
                                                    {.nodes = o.search_limits.nodes,
                                                     .candidates = o.search_limits.candidates,
                                                     .gain = o.search_limits.gain,
                                                     .expand_differences = o.expand_differences,
                                                     .move_rounding = o.move_rounding,
                                                     .launch_seconds = facts.launch_seconds,
                                                     .share_seconds = facts.share_seconds},
                                                    target, judge);
  result.search.is_on = true;
  result.search.report = report_of(found);
  result.search.not_done = std::move(found.not_done);
  result.search.unchanged = std::move(found.unchanged);
  for (search::Rewriting& r : found.rewritings)
    result.search.rewrites.push_back(
        {std::move(r.rule), std::move(r.before), std::move(r.after), named_nodes(*written, r.covers), r.saved_seconds});
  if (found.graph) result.graph = std::make_shared<const graph::Graph>(std::move(*found.graph));
  return result;
}

}  // namespace tilewright::detail
