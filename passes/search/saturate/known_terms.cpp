// Operands of terms come before them in the table.
#include "passes/search/saturate/known_terms.h"

namespace tilewright::passes::search {

bool KnownTerms::is_known_leaf(const Leaf& leaf) const {
  if (leaf.kind != Leaf::Kind::node) return true;
  const graph::Node& n = written_.node(leaf.node);
  return n.op == graph::Op::constant || (n.op == graph::Op::input && n.is_parameter);
}

bool KnownTerms::is_known(int term) {
  while (static_cast<int>(terms_.size()) <= term) {
    const Node& n = all_.terms.node(static_cast<int>(terms_.size()));
    bool known = n.op != Op::variable || is_known_leaf(all_.leaves[static_cast<std::size_t>(n.attribute)]);
    for (int i = 0; i < operands_of(n); ++i) known = known && terms_[static_cast<std::size_t>(n.in[static_cast<std::size_t>(i)].term)];
    terms_.push_back(known);
  }
  return terms_[static_cast<std::size_t>(term)];
}

void KnownTerms::update(const EGraph& graph) {
  classes_.assign(static_cast<std::size_t>(graph.added_terms()), false);
  for (int term = 0; term < graph.added_terms(); ++term)
    if (is_known(term)) classes_[static_cast<std::size_t>(graph.find({term, {}}).term)] = true;
}

}  // namespace tilewright::passes::search
