// Operands of terms come before them in the table.
#include "passes/search/saturate/kernel_terms.h"

namespace tilewright::passes::search {

bool KernelTerms::has_kernel(int term) {
  while (static_cast<int>(terms_.size()) <= term) {
    const Node& n = table_.node(static_cast<int>(terms_.size()));
    LabelSet axes = 0;
    bool has_kernel = false;
    for (int i = 0; i < operands_of(n); ++i) {
      const Ref& operand = n.in[static_cast<std::size_t>(i)];
      axes |= operand.labels.set();
      has_kernel = has_kernel || terms_[static_cast<std::size_t>(operand.term)];
    }
    if (n.op == Op::product || n.op == Op::sum) has_kernel = has_kernel || (axes & ~n.kept) != 0;
    terms_.push_back(has_kernel && n.op != Op::reduce);
  }
  return terms_[static_cast<std::size_t>(term)];
}

void KernelTerms::update(const EGraph& graph) {
  classes_.assign(static_cast<std::size_t>(graph.added_terms()), false);
  for (int term = 0; term < graph.added_terms(); ++term)
    if (has_kernel(term)) classes_[static_cast<std::size_t>(graph.find({term, {}}).term)] = true;
}

}  // namespace tilewright::passes::search
