// Judges graphs as the compiler does: by fusion's estimate, and by the check at small instances.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "passes/fusion/check/instance_check.h"
#include "passes/fusion/sequence/estimate_graph.h"
#include "passes/search/choose/search_graph.h"

namespace tilewright::passes::search {

/// What differs between values that should be equal, if anything does.
inline std::optional<std::string> difference(const graph::Graph& g, std::span<const EqualValues> values) {
  std::vector<graph::NodeId> nodes;
  std::vector<fusion::RewrittenValue> pairs;
  for (const EqualValues& v : values) pairs.push_back({v.written, v.rewritten}), nodes.push_back(v.written), nodes.push_back(v.rewritten);
  const fusion::ProofResult result = fusion::InstanceCheck(g).run(fusion::AxisAnalysis(g, nodes, {}), pairs);
  return result.is_refuted ? std::optional(result.text) : std::nullopt;
}

inline Judge judge_by_fusion() {
  return {.estimate = [](const graph::Graph& g) -> std::optional<SearchEstimate> {
            const auto e = fusion::estimate_graph(g, {}, {});
            if (!e) return std::nullopt;
            return SearchEstimate{e->seconds, e->seconds_if_small, e->seconds_if_large, e->kernels};
          },
          .difference = difference};
}

}  // namespace tilewright::passes::search
