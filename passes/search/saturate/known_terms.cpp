// Finds leaves that no run changes.
#include "passes/search/saturate/known_terms.h"

namespace tilewright::passes::search {

bool KnownTerms::is_known_leaf(const Leaf& leaf) const {
  if (leaf.kind != Leaf::Kind::node) return true;
  const graph::Node& n = written_.node(leaf.node);
  return n.op == graph::Op::constant || (n.op == graph::Op::input && n.is_parameter);
}

bool KnownTerms::follows(const Node& n) {
  if (const Leaf* leaf = all_.leaf(n); leaf && !is_known_leaf(*leaf)) return false;
  for (int i = 0; i < operands_of(n); ++i)
    if (!holds(n.in[static_cast<std::size_t>(i)].term)) return false;
  return true;
}

}  // namespace tilewright::passes::search
