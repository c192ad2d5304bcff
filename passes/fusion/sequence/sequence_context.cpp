// Collects the outputs of a graph by node.
#include "passes/fusion/sequence/sequence_context.h"

#include <utility>

#include "passes/fusion/translate/signed_zeros.h"
#include "tileir/graph/neutral.h"

namespace tilewright::passes::fusion {

using graph::NodeId;

SequenceContext::SequenceContext(const graph::Graph& g, const FusionOptions& o, const ir::TargetDesc& t, PlanCheck plan_check)
    : graph(g),
      options(o),
      target(t),
      check(std::move(plan_check)),
      known(g),
      zero_signs(nodes_with_signed_zeros(g)),
      buffers(g, known),
      instances(g) {
  for (const graph::Output& output : g.outputs()) outputs[output.node].push_back(&output);
}

std::vector<const graph::Output*> SequenceContext::outputs_of(NodeId n) const {
  const auto at = outputs.find(n);
  return at == outputs.end() ? std::vector<const graph::Output*>() : at->second;
}

bool SequenceContext::needs_no_kernel(NodeId n) const {
  return graph::is_empty(graph.node(n).shape) && graph.node(n).op != graph::Op::call;
}

}  // namespace tilewright::passes::fusion
