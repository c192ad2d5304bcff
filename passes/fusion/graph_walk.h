// Walks over graphs without recursion: graphs may be deeper than a stack.
#pragma once
#include <utility>
#include <vector>

#include "tileir/graph/graph.h"

namespace tilewright::passes::fusion {

/// Visits what `parts` leads to from `root`, each node after its parts. `enter` is asked once for each edge that leads to a node, and says
/// whether the node and its parts are visited.
template <class Parts, class Enter, class Visit>
void visit_operands_first(graph::NodeId root, Parts parts, Enter enter, Visit visit) {
  struct Open {
    graph::NodeId node;
    std::vector<graph::NodeId> parts;
    std::size_t next = 0;
  };
  std::vector<Open> open;
  if (enter(root)) open.push_back({root, parts(root)});
  while (!open.empty()) {
    Open& top = open.back();
    if (top.next < top.parts.size()) {
      const graph::NodeId part = top.parts[top.next++];
      if (enter(part)) open.push_back({part, parts(part)});
      continue;
    }
    const graph::NodeId done = top.node;
    open.pop_back();
    visit(done);
  }
}

}  // namespace tilewright::passes::fusion
