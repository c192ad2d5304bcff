// Decides classes that have several users.
#include "passes/search/extract/exact_search.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tilewright::passes::search {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kLeastDifference = 1e-15;  // seconds

using ClassSet = std::vector<std::uint64_t>;  // a bit for each class
bool contains(const ClassSet& s, std::size_t c) { return (s[c / 64] >> (c % 64) & 1) != 0; }

class ExactSearch {
 public:
  ExactSearch(const ExtractionProblem& problem, Selection start, const ExactLimits& limits, BestSelections& best)
      : problem_(problem),
        limits_(limits),
        found_(best),
        count_(problem.classes.size()),
        selection_(std::move(start)),
        parents_(count_),
        users_(count_),
        state_(count_),
        is_given_(count_),
        is_barred_(count_) {
    for (std::size_t c = 0; c < count_; ++c) {
      is_barred_[c].resize(problem.classes[c].size());
      std::vector<int> read;
      for (std::size_t i = 0; i < problem.classes[c].size(); ++i)
        for (int k : problem.classes[c][i].operands) {
          parents_[static_cast<std::size_t>(k)].push_back({static_cast<int>(c), static_cast<int>(i)});
          read.push_back(k);
        }
      std::sort(read.begin(), read.end());
      read.erase(std::unique(read.begin(), read.end()), read.end());
      for (int k : read) ++users_[static_cast<std::size_t>(k)];
    }
  }

  ExactSelection run() {
    const std::vector<int> needed = find_dominators();
    const Selection before = selection_;
    for (const std::vector<int>& component : find_components(needed)) {
      begin(needed);
      for (int c : component) is_given_[at(c)] = false;
      solve(component);
    }
    if (!found_.add(selection_)) {
      selection_ = before;
      solve_together(needed);
    }
    return {std::move(selection_), is_complete_};
  }

 private:
  enum class Decision : std::uint8_t { open, in, out };
  struct Parent {
    int class_number, node;
  };
  struct Relaxation {
    std::vector<double> costs;
    Selection nodes;
  };

  static std::size_t at(int c) { return static_cast<std::size_t>(c); }
  const ExtractionNode& node(std::size_t c, int i) const { return problem_.classes[c][at(i)]; }

  std::vector<int> find_dominators() {
    const std::size_t words = (count_ + 63) / 64;
    std::vector<ClassSet> needs(count_, ClassSet(words, ~std::uint64_t{0}));
    ClassSet all(words), one(words);
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (std::size_t c = 0; c < count_; ++c) {
        if (problem_.classes[c].empty()) continue;
        std::fill(all.begin(), all.end(), ~std::uint64_t{0});
        for (const ExtractionNode& n : problem_.classes[c]) {
          std::fill(one.begin(), one.end(), 0);
          for (int k : n.operands)
            for (std::size_t w = 0; w < words; ++w) one[w] |= needs[at(k)][w];
          for (std::size_t w = 0; w < words; ++w) all[w] &= one[w];
        }
        all[c / 64] |= std::uint64_t{1} << (c % 64);
        if (all == needs[c]) continue;
        needs[c] = all;
        has_changed = true;
      }
    }
    std::vector<int> needed;
    for (std::size_t c = 0; c < count_; ++c)
      if (std::any_of(problem_.roots.begin(), problem_.roots.end(), [&](int root) { return contains(needs[at(root)], c); }))
        needed.push_back(static_cast<int>(c));
    return needed;
  }

  std::vector<std::vector<int>> find_components(const std::vector<int>& needed) const {
    std::vector<bool> is_needed(count_);
    for (int c : needed) is_needed[at(c)] = true;
    std::vector<int> owner(count_, -1);
    std::vector<std::size_t> group(needed.size());
    for (std::size_t i = 0; i < needed.size(); ++i) {
      group[i] = i;
      std::vector<bool> seen(count_);
      std::vector<int> stack = {needed[i]};
      while (!stack.empty()) {
        const int c = stack.back();
        stack.pop_back();
        for (const ExtractionNode& n : problem_.classes[at(c)])
          for (int k : n.operands) {
            if (is_needed[at(k)] || seen[at(k)]) continue;
            seen[at(k)] = true;
            stack.push_back(k);
            if (owner[at(k)] < 0) owner[at(k)] = static_cast<int>(i);
            const std::size_t from = group[i], to = group[at(owner[at(k)])];
            if (from != to)
              for (std::size_t& g : group)
                if (g == from) g = to;
          }
      }
    }
    std::map<std::size_t, std::vector<int>> parts;
    for (std::size_t i = 0; i < needed.size(); ++i) parts[group[i]].push_back(needed[i]);
    std::vector<std::vector<int>> components;
    for (auto& [first, classes] : parts) components.push_back(std::move(classes));
    return components;
  }

  /// The classes that every selection needs are in. They count as paid, and as computed by other components.
  void begin(const std::vector<int>& needed) {
    std::fill(state_.begin(), state_.end(), Decision::open);
    std::fill(is_given_.begin(), is_given_.end(), false);
    for (int c : needed) state_[at(c)] = Decision::in, is_given_[at(c)] = true;
  }

  void solve_together(const std::vector<int>& needed) {
    begin(needed);
    std::fill(is_given_.begin(), is_given_.end(), false);
    solve(needed);
  }

  /// Finds the cheapest nodes for these classes and what they need, beginning with the selection so far.
  void solve(const std::vector<int>& roots) {
    roots_ = roots;
    best_cost_ = cost_of(selection_).cost;
    branch();
  }

  struct Walk {
    double cost = 0;
    std::vector<int> needed, cycle;
  };
  /// The classes of a selection that the roots need, or a cycle among these.
  Walk cost_of(const Selection& nodes) const {
    struct Entry {
      int class_number;
      std::size_t next;
    };
    Walk walk;
    std::vector<std::uint8_t> states(count_);
    std::vector<Entry> stack;
    const auto enter = [&](int c) {
      states[at(c)] = 1;
      walk.needed.push_back(c);
      walk.cost += node(at(c), nodes[at(c)]).cost;
      stack.push_back({c, 0});
    };
    for (int root : roots_) {
      if (states[at(root)] == 0) enter(root);
      while (!stack.empty()) {
        Entry& top = stack.back();
        const std::vector<int>& operands = node(at(top.class_number), nodes[at(top.class_number)]).operands;
        if (top.next == operands.size()) {
          states[at(top.class_number)] = 2;
          stack.pop_back();
          continue;
        }
        const int k = operands[top.next++];
        if (is_given_[at(k)] || states[at(k)] == 2) continue;
        if (states[at(k)] == 0) {
          enter(k);
          continue;
        }
        for (auto e = stack.rbegin(); e != stack.rend(); ++e) {
          walk.cycle.push_back(e->class_number);
          if (e->class_number == k) return walk;
        }
      }
    }
    return walk;
  }

  /// Returns the bound; kNone if nothing is left.
  double relax(Relaxation& r) {
    r.costs.assign(count_, kNone);
    r.nodes.assign(count_, -1);
    std::vector<int> queue;
    std::vector<bool> is_queued(count_);
    const auto share = [&](int k) {
      if (is_given_[at(k)]) return 0.0;
      if (state_[at(k)] == Decision::out || r.costs[at(k)] == kNone) return kNone;
      return state_[at(k)] == Decision::in ? 0.0 : r.costs[at(k)] / users_[at(k)];
    };
    const auto try_node = [&](int c, int i) {
      ++steps_;
      if (is_given_[at(c)] || is_barred_[at(c)][at(i)]) return;
      double cost = node(at(c), i).cost;
      for (int k : node(at(c), i).operands) cost += share(k);
      if (!(cost < r.costs[at(c)] - kLeastDifference)) return;
      r.costs[at(c)] = cost;
      r.nodes[at(c)] = i;
      if (!is_queued[at(c)]) queue.push_back(c), is_queued[at(c)] = true;
    };
    for (std::size_t c = 0; c < count_; ++c)
      for (std::size_t i = 0; i < problem_.classes[c].size(); ++i) {
        const auto& operands = problem_.classes[c][i].operands;
        if (std::all_of(operands.begin(), operands.end(), [&](int k) { return is_given_[at(k)]; }))
          try_node(static_cast<int>(c), static_cast<int>(i));
      }
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const int k = queue[head];
      is_queued[at(k)] = false;
      for (const Parent& p : parents_[at(k)]) try_node(p.class_number, p.node);
    }
    double bound = 0;
    for (std::size_t c = 0; c < count_; ++c)
      if (state_[c] == Decision::in && !is_given_[c]) bound += r.costs[c];
    return bound;
  }

  void branch() {
    if (steps_ > limits_.steps) is_complete_ = false;
    if (!is_complete_) return;
    Relaxation r;
    if (relax(r) >= best_cost_ * (1 - limits_.gap) - kLeastDifference) return;
    const Walk walk = cost_of(r.nodes);
    if (!walk.cycle.empty()) return break_cycle(walk.cycle, r.nodes);
    if (walk.cost < best_cost_ - kLeastDifference) {
      best_cost_ = walk.cost;
      for (int c : walk.needed) selection_[at(c)] = r.nodes[at(c)];
      found_.add(selection_);
    }
    int most = -1;
    double difference = kLeastDifference;
    for (int c : walk.needed) {
      if (users_[at(c)] < 2 || state_[at(c)] == Decision::in) continue;
      if (const double d = r.costs[at(c)] * (1 - 1.0 / users_[at(c)]); d > difference) difference = d, most = c;
    }
    if (most < 0) return;
    for (Decision d : {Decision::in, Decision::out}) {
      state_[at(most)] = d;
      branch();
    }
    state_[at(most)] = Decision::open;
  }

  void break_cycle(const std::vector<int>& cycle, const Selection& nodes) {
    std::vector<std::pair<std::size_t, std::vector<bool>>> saved;
    for (int c : cycle) {
      std::vector<bool>& barred = is_barred_[at(c)];
      const std::size_t own = at(nodes[at(c)]);
      barred[own] = true;
      branch();
      barred[own] = false;
      saved.emplace_back(at(c), barred);
      std::fill(barred.begin(), barred.end(), true);
      barred[own] = false;
    }
    for (auto s = saved.rbegin(); s != saved.rend(); ++s) is_barred_[s->first] = std::move(s->second);
  }

  const ExtractionProblem& problem_;
  const ExactLimits limits_;
  BestSelections& found_;
  const std::size_t count_;
  Selection selection_;  // the best so far
  std::vector<std::vector<Parent>> parents_;
  std::vector<int> users_;  // how many classes can read a class
  std::vector<Decision> state_;
  std::vector<bool> is_given_;
  std::vector<std::vector<bool>> is_barred_;  // nodes that a cycle forbids
  std::vector<int> roots_;
  double best_cost_ = 0;
  std::uint64_t steps_ = 0;
  bool is_complete_ = true;
};

}  // namespace

ExactSelection cheapest_selection(const ExtractionProblem& problem, const Selection& start, const ExactLimits& limits,
                                  BestSelections& best) {
  if (problem.classes.size() > limits.classes) return {start, false};
  return ExactSearch(problem, start, limits, best).run();
}

}  // namespace tilewright::passes::search
