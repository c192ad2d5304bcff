// Translates pieces, and moves them to their positions.
#include "passes/fusion/translate/concat_outputs.h"

#include <algorithm>
#include <utility>

namespace tilewright::passes::fusion {

std::vector<KernelOutput> result_outputs(const graph::Graph& g, GraphToExprs& translator, ExprBuilder& b, graph::NodeId n,
                                         const IsStored& is_stored, std::string name, Tensor tensor) {
  const std::vector<ConcatPiece> pieces = pieces_of(g, n, is_stored);
  if (pieces.empty()) {
    BoundValue v = translator.translate(n);
    return {{std::move(name), v.value, tensor, std::move(v.index)}};
  }
  std::vector<KernelOutput> outputs;
  for (const ConcatPiece& p : pieces) {
    BoundValue v = translator.translate(p.value);
    for (std::size_t axis = 0; axis < p.begin.size(); ++axis)
      if (!(p.begin[axis] == Dim(0))) v.index[axis] = b.add({v.index[axis], b.extent(p.begin[axis])});
    outputs.push_back({name, v.value, tensor, std::move(v.index), true});
  }
  return outputs;
}

std::vector<KernelOutput> outputs_of_wholes(GraphToExprs& translator, const std::vector<KernelOutput>& outputs,
                                            const std::function<graph::NodeId(Tensor)>& node_of) {
  if (std::none_of(outputs.begin(), outputs.end(), [](const KernelOutput& o) { return o.is_piece; })) return {};
  std::vector<KernelOutput> wholes;
  for (const KernelOutput& o : outputs) {
    if (std::any_of(wholes.begin(), wholes.end(), [&](const KernelOutput& whole) { return whole.tensor == o.tensor; })) continue;
    wholes.push_back(o);
    if (!o.is_piece) continue;
    BoundValue v = translator.translate(node_of(o.tensor));
    wholes.back() = {o.name, v.value, o.tensor, std::move(v.index)};
  }
  return wholes;
}

}  // namespace tilewright::passes::fusion
