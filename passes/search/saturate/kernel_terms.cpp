// Finds sums among operands.
#include "passes/search/saturate/kernel_terms.h"

namespace tilewright::passes::search {

bool KernelTerms::follows(const Node& n) {
  if (n.op == Op::reduce) return false;
  for (int i = 0; i < operands_of(n); ++i)
    if (holds(n.in[static_cast<std::size_t>(i)].term)) return true;
  return (n.op == Op::product || n.op == Op::sum) && sums_an_axis(n);
}

}  // namespace tilewright::passes::search
