// Finds sums among operands.
#include "passes/search/saturate/kernel_terms.h"

namespace tilewright::passes::search {

bool KernelTerms::follows(const Node& n) {
  if (n.op == Op::reduce) return false;
  LabelSet axes = 0;
  for (int i = 0; i < operands_of(n); ++i) {
    const Ref& operand = n.in[static_cast<std::size_t>(i)];
    if (holds(operand.term)) return true;
    axes |= operand.labels.set();
  }
  return (n.op == Op::product || n.op == Op::sum) && (axes & ~n.kept) != 0;
}

}  // namespace tilewright::passes::search
