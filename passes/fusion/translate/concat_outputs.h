// The outputs that kernels write for a result: the whole, or each piece of a concatenation at its position.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "passes/fusion/expr/kernel_output.h"
#include "passes/fusion/graph/concat_pieces.h"
#include "passes/fusion/translate/graph_to_exprs.h"

namespace tilewright::passes::fusion {

/// The outputs that together are the node's value in this tensor: one, or one for each piece of a concatenation that is written in place.
std::vector<KernelOutput> result_outputs(const graph::Graph&, GraphToExprs&, ExprBuilder&, graph::NodeId, const IsStored&, std::string name,
                                         Tensor);

/// These outputs with a single one for each concatenation, which chooses between the pieces at each element; none if there are no pieces.
/// node_of: the node whose value a tensor is.
std::vector<KernelOutput> outputs_of_wholes(GraphToExprs&, const std::vector<KernelOutput>&,
                                            const std::function<graph::NodeId(Tensor)>& node_of);

}  // namespace tilewright::passes::fusion
