// Estimates how long a graph takes, so that equal graphs can be compared.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "passes/fusion/options.h"
#include "passes/fusion/sequence/graph_estimate.h"
#include "tileir/graph/graph.h"
#include "tileir/target/target_desc.h"

namespace tilewright::passes::fusion {

/// Estimates graphs of one table of symbols. A graph and its rewritten forms have most segments in common. So segments of the structure of
/// an earlier one, of this graph or of another one, are not derived again, and segments with the formulas of an earlier one are not divided
/// into kernels again.
class GraphEstimator {
 public:
  /// Keeps the reference.
  GraphEstimator(FusionOptions, const ir::TargetDesc&);

  /// Divides the graph into kernels as build_sequence does, and adds up their estimates: nothing is checked or emitted. Kernels that run when a
  /// parameter is given, sums at positions that are data and kernels of the user are left out. None if a segment has no fused plan.
  std::optional<GraphEstimate> operator()(const graph::Graph&);

  /// The formulas of all kernels, as a text: graphs with equal texts have the same kernels. None if a segment has no fused plan, or a formula a
  /// function of the user.
  std::optional<std::string> formulas(const graph::Graph&);

 private:
  std::optional<EstimatedFormulas> derived(const graph::Graph&, bool has_estimate);

  const FusionOptions options_;
  const ir::TargetDesc& target_;
  // By structure of segments; null for those without a fused plan.
  std::map<std::string, std::optional<EstimatedFormulas>> estimated_, translated_;
  std::map<std::string, GraphEstimate> of_formulas_;
};

/// The estimate of one graph.
std::optional<GraphEstimate> estimate_graph(const graph::Graph&, const FusionOptions&, const ir::TargetDesc&);

}  // namespace tilewright::passes::fusion
