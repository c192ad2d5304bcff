// Dominated nodes, and the cost of selections.
#include "passes/search/extract/extraction_problem.h"

#include <algorithm>

namespace tilewright::passes::search {

void drop_dominated_nodes(ExtractionProblem& problem) {
  for (std::size_t c = 0; c < problem.classes.size(); ++c) {
    std::vector<ExtractionNode>& nodes = problem.classes[c];
    std::erase_if(nodes,
                  [&](const ExtractionNode& n) { return std::binary_search(n.operands.begin(), n.operands.end(), static_cast<int>(c)); });
    std::stable_sort(nodes.begin(), nodes.end(), [](const ExtractionNode& a, const ExtractionNode& b) {
      return a.cost != b.cost ? a.cost < b.cost : a.operands.size() < b.operands.size();
    });
    std::vector<ExtractionNode> kept;
    for (ExtractionNode& n : nodes) {
      const bool is_dominated = std::any_of(kept.begin(), kept.end(), [&](const ExtractionNode& k) {
        return std::includes(n.operands.begin(), n.operands.end(), k.operands.begin(), k.operands.end());
      });
      if (!is_dominated) kept.push_back(std::move(n));
    }
    nodes = std::move(kept);
  }
}

// By a stack, since a graph may be as deep as it has nodes.
std::optional<double> SelectionCost::of(const Selection& selection) {
  const std::uint64_t open = 2 * ++calls_, done = open + 1;
  double sum = 0;
  needed_.clear();
  stack_.clear();
  for (int root : problem_.roots) {
    if (states_[static_cast<std::size_t>(root)] == done) continue;
    states_[static_cast<std::size_t>(root)] = open;
    stack_.push_back({root, 0});
    while (!stack_.empty()) {
      Entry& top = stack_.back();
      const auto at = static_cast<std::size_t>(top.class_number);
      const ExtractionNode& n = problem_.classes[at][static_cast<std::size_t>(selection[at])];
      if (top.next == n.operands.size()) {
        states_[at] = done;
        sum += n.cost;
        needed_.push_back(top.class_number);
        ++steps_;
        stack_.pop_back();
        continue;
      }
      const int operand = n.operands[top.next++];
      std::uint64_t& state = states_[static_cast<std::size_t>(operand)];
      if (state == open) return std::nullopt;
      if (state == done) continue;
      state = open;
      stack_.push_back({operand, 0});
    }
  }
  return sum;
}

}  // namespace tilewright::passes::search
