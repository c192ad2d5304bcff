// Names the node that computes each class: the outcome of an extraction, as far as the translation to a graph needs it.
#pragma once
#include "passes/search/egraph.h"

namespace tilewright::passes::search {

struct Choice {
  const NodeSource& source;
  std::vector<std::size_t> members = {};  // indexed by class; the first member for classes beyond its end
  // Indexed by class: whether the graph as it was written computes it by this member, too. Empty: all is written anew.
  std::vector<bool> as_written = {};

  const Member& member(int root) const {
    const auto at = static_cast<std::size_t>(root);
    return source.members(root)[at < members.size() ? members[at] : 0];
  }
};

}  // namespace tilewright::passes::search
