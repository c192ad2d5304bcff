// Operands of terms come before them in the table.
#include "passes/search/saturate/term_fact.h"

namespace tilewright::passes::search {

bool TermFact::holds(int term) {
  while (static_cast<int>(terms_.size()) <= term) {
    const bool holds = follows(table_.node(static_cast<int>(terms_.size())));
    terms_.push_back(holds);
  }
  return terms_[static_cast<std::size_t>(term)];
}

void TermFact::update(const EGraph& graph) {
  classes_.assign(static_cast<std::size_t>(graph.added_terms()), false);
  for (int term = 0; term < graph.added_terms(); ++term)
    if (holds(term)) classes_[static_cast<std::size_t>(graph.find({term, {}}).term)] = true;
}

}  // namespace tilewright::passes::search
