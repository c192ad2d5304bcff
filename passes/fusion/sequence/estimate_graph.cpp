// Covers one segment after the other.
#include "passes/fusion/sequence/estimate_graph.h"

#include <algorithm>
#include <utility>

#include "passes/fusion/graph/node_memory.h"
#include "passes/fusion/segments/segments.h"
#include "passes/fusion/sequence/fused_kernels.h"
#include "passes/fusion/sequence/sequence_context.h"
#include "passes/fusion/thresholds.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

namespace {

FusionOptions without_emission(FusionOptions options) {
  options.emit = false;
  return options;
}

// Estimates need no proof.
ProofResult unchecked(const ExprBuilder&, const LoopPlan&) { return {}; }

bool has_kernels_to_derive(const SequenceContext& c, const Segment& s) {
  const bool is_empty = std::all_of(s.results.begin(), s.results.end(), [&](NodeId n) { return c.needs_no_kernel(n); });
  return !is_empty && (s.joined || !has_own_kernels(c.graph.node(s.results[0]).op));
}

}  // namespace

GraphEstimator::GraphEstimator(FusionOptions options, const ir::TargetDesc& target)
    : options_(without_emission(std::move(options))), target_(target) {}

std::optional<EstimatedFormulas> GraphEstimator::derived(const graph::Graph& g, bool has_estimate) {
  SequenceContext c(g, options_, target_, unchecked);
  const std::vector<Segment> segments = divide(g, kMostOperations, !target_.is_gpu());
  const std::set<NodeId> ahead = results_ahead(segments);
  c.buffers.store_in_outputs([&](NodeId n) { return !has_own_memory(g.node(n)) && !ahead.contains(n); });
  FusedKernels fused(c, ahead);
  EstimatedFormulas all;
  for (const Segment& s : segments) {
    if (!has_kernels_to_derive(c, s)) {
      if (all.formulas) *all.formulas += s.structure + "\n\n";
      continue;
    }
    const auto [at, is_new] = (has_estimate ? estimated_ : translated_).try_emplace(s.structure);
    if (is_new) {
      c.estimated = {.known = has_estimate ? &of_formulas_ : nullptr};
      try {
        within_fractions([&] { fused.derive(s); });
        at->second = c.estimated;
      } catch (const DerivationFailed&) {
      }
    }
    if (!at->second) return std::nullopt;
    all.estimate += at->second->estimate;
    if (all.formulas) all.formulas = at->second->formulas ? std::optional(*all.formulas + *at->second->formulas) : std::nullopt;
  }
  return all;
}

std::optional<GraphEstimate> GraphEstimator::operator()(const graph::Graph& g) {
  const std::optional<EstimatedFormulas> all = derived(g, true);
  return all ? std::optional(all->estimate) : std::nullopt;
}

std::optional<std::string> GraphEstimator::formulas(const graph::Graph& g) {
  const std::optional<EstimatedFormulas> all = derived(g, false);
  return all ? all->formulas : std::nullopt;
}

std::optional<GraphEstimate> estimate_graph(const graph::Graph& g, const FusionOptions& options, const ir::TargetDesc& target) {
  return GraphEstimator(options, target)(g);
}

}  // namespace tilewright::passes::fusion
