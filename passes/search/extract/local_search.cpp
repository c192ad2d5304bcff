// Greedy choice and local search.
#include "passes/search/extract/local_search.h"

#include <functional>
#include <queue>
#include <tuple>

#include "passes/search/thresholds.h"

namespace tilewright::passes::search {
namespace {

constexpr double kLeastGain = 1e-12;  // relative

struct Use {
  int class_number, node;
};

/// By class: the nodes of other classes that read it.
std::vector<std::vector<Use>> uses_of(const ExtractionProblem& problem) {
  std::vector<std::vector<Use>> uses(problem.classes.size());
  for (std::size_t c = 0; c < problem.classes.size(); ++c)
    for (std::size_t i = 0; i < problem.classes[c].size(); ++i)
      for (int operand : problem.classes[c][i].operands)
        uses[static_cast<std::size_t>(operand)].push_back({static_cast<int>(c), static_cast<int>(i)});
  return uses;
}

class LocalSearch {
 public:
  LocalSearch(const ExtractionProblem& problem, Selection selection, std::uint64_t most_steps, BestSelections& best)
      : problem_(problem), selection_(std::move(selection)), most_steps_(most_steps), best_(best), costs_(problem) {}

  Selection run() {
    cost_ = *evaluate();
    while (change_classes() || change_users()) {
    }
    return std::move(selection_);
  }

 private:
  std::optional<double> evaluate() {
    const std::optional<double> cost = costs_.of(selection_);
    if (cost) best_.add(selection_, *cost, costs_.needed());
    return cost;
  }
  bool is_at_limit() const { return costs_.steps() > most_steps_; }

  /// Keeps a change if it is cheaper.
  template <class Undo>
  bool keep_if_better(Undo&& undo) {
    const std::optional<double> cost = evaluate();
    if (cost && *cost < cost_ * (1 - kLeastGain)) {
      cost_ = *cost;
      return true;
    }
    undo();
    return false;
  }

  bool change_classes() {
    bool has_changed = false;
    for (std::size_t c = 0; c < selection_.size(); ++c)
      for (std::size_t i = 0; i < problem_.classes[c].size() && selection_[c] >= 0; ++i) {
        if (is_at_limit()) return false;
        const int before = selection_[c];
        if (static_cast<int>(i) == before || !can_be(problem_.classes[c][i])) continue;
        selection_[c] = static_cast<int>(i);
        has_changed |= keep_if_better([&] { selection_[c] = before; });
      }
    return has_changed;
  }

  bool change_users() {
    bool has_changed = false;
    if (uses_.empty()) uses_ = uses_of(problem_);
    for (const std::vector<Use>& uses : uses_) {
      if (uses.size() < 2 || uses.size() > kMostUsers) continue;
      if (is_at_limit()) return false;
      const Selection before = selection_;
      for (const Use& u : uses)
        if (can_be(problem_.classes[static_cast<std::size_t>(u.class_number)][static_cast<std::size_t>(u.node)]))
          selection_[static_cast<std::size_t>(u.class_number)] = u.node;
      has_changed |= keep_if_better([&] { selection_ = before; });
    }
    return has_changed;
  }

  bool can_be(const ExtractionNode& n) const {
    for (int operand : n.operands)
      if (selection_[static_cast<std::size_t>(operand)] < 0) return false;
    return true;
  }

  const ExtractionProblem& problem_;
  Selection selection_;
  std::uint64_t most_steps_;
  BestSelections& best_;
  SelectionCost costs_;
  double cost_ = 0;
  std::vector<std::vector<Use>> uses_;
};

}  // namespace

Selection cheapest_trees(const ExtractionProblem& problem) {
  struct Entry {
    double cost;
    int class_number, node;
    bool operator>(const Entry& other) const {
      return std::tie(cost, class_number, node) > std::tie(other.cost, other.class_number, other.node);
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  std::vector<std::vector<std::size_t>> open(problem.classes.size());  // by node: operands that are not final
  for (std::size_t c = 0; c < problem.classes.size(); ++c)
    for (std::size_t i = 0; i < problem.classes[c].size(); ++i) {
      const ExtractionNode& n = problem.classes[c][i];
      open[c].push_back(n.operands.size());
      if (n.operands.empty()) next.push({n.cost, static_cast<int>(c), static_cast<int>(i)});
    }
  const std::vector<std::vector<Use>> uses = uses_of(problem);
  Selection selection(problem.classes.size(), -1);
  std::vector<double> costs(problem.classes.size());
  while (!next.empty()) {
    const Entry e = next.top();
    next.pop();
    const auto at = static_cast<std::size_t>(e.class_number);
    if (selection[at] >= 0) continue;
    selection[at] = e.node;
    costs[at] = e.cost;
    for (const Use& u : uses[at]) {
      const auto user = static_cast<std::size_t>(u.class_number), node = static_cast<std::size_t>(u.node);
      if (--open[user][node] > 0) continue;
      double sum = problem.classes[user][node].cost;
      for (int operand : problem.classes[user][node].operands) sum += costs[static_cast<std::size_t>(operand)];
      next.push({sum, u.class_number, u.node});
    }
  }
  return selection;
}

Selection improve(const ExtractionProblem& problem, Selection selection, std::uint64_t most_steps, BestSelections& best) {
  return LocalSearch(problem, std::move(selection), most_steps, best).run();
}

}  // namespace tilewright::passes::search
