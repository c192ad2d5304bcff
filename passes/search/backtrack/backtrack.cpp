// Keeps a queue of graphs. All graphs use one table of terms; a graph consists of the terms that its outputs need.
#include "passes/search/backtrack/backtrack.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include "passes/search/extract/node_cost.h"
#include "passes/search/plain_terms.h"
#include "passes/search/rules/search_rules.h"
#include "passes/search/saturate/kernel_terms.h"
#include "passes/search/saturate/known_terms.h"

namespace tilewright::passes::search {
namespace {

using graph::NodeId;

constexpr double kLeastGain = 1e-9;  // relative

/// The reference with its labels replaced: label i by labels[i].
Ref relabelled(const Ref& r, const Labels& labels) {
  Ref result{r.term, {}};
  for (Label l : r.labels) result.labels.push_back(labels[l]);
  return result;
}

/// The reference with labels that are the slots of a term: the label of slot i becomes i.
Ref by_slots(const Ref& r, const Labels& slots) {
  Ref result{r.term, {}};
  for (Label l : r.labels) result.labels.push_back(static_cast<Label>(slots.slot_of(l)));
  return result;
}

class Backtracking {
 public:
  Backtracking(const graph::Graph& written, const GraphTerms& terms, const ir::TargetDesc& target, const BacktrackLimits& limits)
      : written_(written),
        limits_(limits),
        all_(terms),
        source_(all_.terms),
        guards_(all_, source_, limits.rules),
        known_(written, all_),
        kernels_(all_.terms),
        cost_(written, all_, target) {
    for (const Direction& d : search_directions(search_rules()))
      matchers_.push_back({Matcher(source_, all_.terms, search_rules()[static_cast<std::size_t>(d.rule)], d.side), d});
    for (const graph::Output& o : written.outputs()) add_value(o.node);
    for (const Leaf& leaf : all_.leaves)
      if (leaf.kind == Leaf::Kind::node)
        for (NodeId n : written.node(leaf.node).operands) add_value(n);
  }

  BacktrackedGraph run() {
    State first;
    for (NodeId n : values_) first.values.push_back(all_.values[n.index]->ref);
    first.seconds = seconds(first);
    keep(std::move(first));
    BacktrackedGraph result;
    while (result.changed < limits_.graphs && !is_at_limit()) {
      const std::optional<std::size_t> next = take();
      result.is_complete = !next;
      if (!next) break;
      ++result.changed;
      change(*next);
    }
    result.made = states_.size();
    result.seconds_written = states_[0].seconds;
    result.seconds = states_[best_].seconds;
    for (std::size_t at = best_; at != 0; at = states_[at].parent) result.path.push_back(states_[at].by);
    std::reverse(result.path.begin(), result.path.end());
    for (std::size_t i = 0; i < values_.size(); ++i) all_.values[values_[i].index]->ref = states_[best_].values[i];
    result.terms = std::move(all_);
    return result;
  }

 private:
  struct State {
    std::vector<Ref> values;  // by number: an output, or what a leaf reads
    double seconds = 0;
    std::size_t parent = 0;
    Saturation::Application by;  // the rule that made it of its parent; the labels of `before` are the slots of the term
  };
  struct SideMatcher {
    Matcher matcher;
    Direction direction;
  };
  struct Entry {
    double seconds;
    std::size_t state;
    bool operator<(const Entry& other) const { return seconds != other.seconds ? seconds > other.seconds : state < other.state; }
  };

  bool is_at_limit() const { return steps_ > limits_.steps; }

  void add_value(NodeId n) {
    if (all_.values[n.index] && numbers_.emplace(n, values_.size()).second) values_.push_back(n);
  }

  /// The next graph of the queue that does not cost too much.
  std::optional<std::size_t> take() {
    if (queue_.empty() || queue_.top().seconds > limits_.alpha * states_[best_].seconds) {
      queue_ = {};
      return std::nullopt;
    }
    const std::size_t state = queue_.top().state;
    queue_.pop();
    return state;
  }

  void change(std::size_t at) {
    const std::vector<int> needed = needed_terms(states_[at]);
    for (int term : needed) {
      if (known_.holds(term) || !(limits_.rules.neutral_moves || kernels_.holds(term))) continue;
      for (const Saturation::Application& a : applications(term)) {
        if (is_at_limit()) return;
        State next{.values = replaced(states_[at], needed, a), .seconds = 0, .parent = at, .by = a};
        next.seconds = seconds(next);
        keep(std::move(next));
      }
    }
  }

  void keep(State next) {
    if (!states_.empty() && next.seconds > limits_.alpha * states_[best_].seconds) return;
    std::vector<int> key;
    for (const Ref& r : next.values) {
      key.push_back(r.term);
      key.insert(key.end(), r.labels.begin(), r.labels.end());
    }
    if (!seen_.insert(std::move(key)).second) return;
    queue_.push({next.seconds, states_.size()});
    states_.push_back(std::move(next));
    if (states_.back().seconds < states_[best_].seconds * (1 - kLeastGain)) best_ = states_.size() - 1;
  }

  /// The applications of rules to a term. They are the same in each graph that has the term.
  const std::vector<Saturation::Application>& applications(int term) {
    const auto [at, is_new] = applications_.try_emplace(term);
    if (!is_new) return at->second;
    Labels slots;
    for (int s = 0; s < all_.terms.slots(term).size(); ++s) slots.push_back(static_cast<Label>(s));
    for (SideMatcher& m : matchers_) {
      const Direction& direction = m.direction;
      if (!guards_.may_apply(direction, all_.terms.node(term).element)) continue;
      m.matcher.at({term, slots}, [&](const Match& match) {
        if (!guards_.may_use(direction, match)) return;
        const Pattern& other = search_rules()[static_cast<std::size_t>(direction.rule)].equation.side(1 - direction.side);
        const Ref after = instantiate(all_.terms, other, match.binding);
        if (!after || after.term == term) return;
        // The instance may be another term for the same value, such as a product of a term with itself whose factors are exchanged. Its labels
        // are the slots of this one.
        TW_CHECK(match.found.labels.set() == slots.set() && after.labels.set() == slots.set(), "a rule changes the axes of a term");
        at->second.push_back({{term, slots}, by_slots(after, slots), direction.rule});
      });
      add_origins(term);
    }
    return at->second;
  }

  /// Terms that were added for another one have its origin.
  void add_origins(int term) {
    all_.origins.resize(static_cast<std::size_t>(all_.terms.size()), all_.origins[static_cast<std::size_t>(term)]);
  }

  /// The values of a graph with one term replaced. `needed`: the terms of the graph, operands first.
  std::vector<Ref> replaced(const State& state, const std::vector<int>& needed, const Saturation::Application& a) {
    std::unordered_map<int, Ref> images;  // the new references of terms that change; their labels are the slots of the old terms
    images.emplace(a.before.term, a.after);
    const auto image = [&](const Ref& r) {
      const auto found = images.find(r.term);
      return found == images.end() ? r : relabelled(found->second, r.labels);
    };
    for (int term : needed) {
      if (images.contains(term)) continue;
      Node n = all_.terms.node(term);
      bool has_changed = false;
      for (int i = 0; i < operands_of(n); ++i) {
        Ref& r = n.in[static_cast<std::size_t>(i)];
        has_changed |= images.contains(r.term);
        r = image(r);
      }
      if (!has_changed) continue;
      images.emplace(term, by_slots(all_.terms.insert(n), all_.terms.slots(term)));
      add_origins(term);
    }
    std::vector<Ref> values;
    for (const Ref& r : state.values) values.push_back(image(r));
    return values;
  }

  /// The terms that the outputs need, operands first.
  std::vector<int> needed_terms(const State& state) {
    const std::uint64_t entered = 2 * ++visits_, done = entered + 1;
    marks_.resize(static_cast<std::size_t>(all_.terms.size()));
    std::vector<int> needed, stack;
    for (const graph::Output& o : written_.outputs()) stack.push_back(state.values[numbers_.at(o.node)].term);
    while (!stack.empty()) {
      const int term = stack.back();
      std::uint64_t& mark = marks_[static_cast<std::size_t>(term)];
      if (mark >= entered) {
        stack.pop_back();
        if (mark == entered) needed.push_back(term);
        mark = done;
        continue;
      }
      mark = entered;
      const Node& n = all_.terms.node(term);
      for (int i = 0; i < operands_of(n); ++i) stack.push_back(n.in[static_cast<std::size_t>(i)].term);
      if (const Leaf* leaf = all_.leaf(n); leaf && leaf->kind == Leaf::Kind::node)
        for (NodeId x : written_.node(leaf->node).operands)
          if (const auto number = numbers_.find(x); number != numbers_.end()) stack.push_back(state.values[number->second].term);
    }
    steps_ += needed.size();
    return needed;
  }

  double seconds(const State& state) {
    double sum = 0;
    for (int term : needed_terms(state)) sum += cost_.seconds(all_.terms.node(term), known_.holds(term)).seconds;
    return sum;
  }

  const graph::Graph& written_;
  const BacktrackLimits limits_;
  GraphTerms all_;
  const PlainTerms source_;
  const RuleGuards guards_;
  KnownTerms known_;
  KernelTerms kernels_;
  const NodeCost cost_;
  std::vector<SideMatcher> matchers_;
  std::vector<NodeId> values_;
  std::map<NodeId, std::size_t> numbers_;
  std::vector<State> states_;
  std::priority_queue<Entry> queue_;
  std::set<std::vector<int>> seen_;
  std::map<int, std::vector<Saturation::Application>> applications_;
  std::size_t best_ = 0;
  std::vector<std::uint64_t> marks_;  // by term: twice the number of the visit that met it; one more if all that it needs was met, too
  std::uint64_t visits_ = 0, steps_ = 0;
};

}  // namespace

BacktrackedGraph backtrack(const graph::Graph& written, const GraphTerms& terms, const ir::TargetDesc& target,
                           const BacktrackLimits& limits) {
  return Backtracking(written, terms, target, limits).run();
}

}  // namespace tilewright::passes::search
