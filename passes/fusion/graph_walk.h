// Walks over graphs and formulas without recursion, since they may be deeper than a stack.
#pragma once
#include <utility>
#include <vector>

namespace tilewright::passes::fusion {

/// Visits all nodes to which `parts` leads from `root`, each node after its parts, which are a list with indices. `enter` is called once
/// for each edge to a node, and returns whether the node and its parts are visited.
template <class Node, class Parts, class Enter, class Visit>
void visit_operands_first(Node root, Parts parts, Enter enter, Visit visit) {
  struct Open {
    Node node;
    decltype(parts(root)) inside;
    std::size_t next = 0;
  };
  std::vector<Open> open;
  if (enter(root)) open.push_back({root, parts(root)});
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next < top.inside.size()) {
      const Node part = top.inside[top.next++];
      if (enter(part)) open.push_back({part, parts(part)});
      continue;
    }
    const Node done = top.node;
    open.pop_back();
    visit(done);
  }
}

}  // namespace tilewright::passes::fusion
