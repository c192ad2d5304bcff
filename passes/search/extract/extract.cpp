// Makes the problem of an e-graph, and solves it by several searches, each of which begins with what the one before found.
#include "passes/search/extract/extract.h"

#include <algorithm>

#include "passes/search/extract/exact_search.h"
#include "passes/search/extract/local_search.h"
#include "passes/search/extract/node_cost.h"
#include "passes/search/plain_terms.h"
#include "passes/search/saturate/known_terms.h"
#include "passes/search/thresholds.h"

namespace tilewright::passes::search {
namespace {

class Extractor {
 public:
  Extractor(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const ir::TargetDesc& target)
      : written_(written),
        all_(all),
        classes_(classes),
        cost_(written, all, target),
        known_(written, all),
        written_members_(members_as_written(written, all, classes)) {
    known_.update(classes);
  }

  Extraction run(const ExtractionLimits& limits) {
    make_problem();
    Extraction e;
    e.seconds_written = seconds_written();
    BestSelections best(problem_, limits.graphs, e.seconds_written * (1 - 1e-9));
    const Selection trees = cheapest_trees(problem_), as_written = written_selection(trees);
    SelectionCost costs(problem_);
    const bool has_written = costs.of(as_written).has_value();
    if (has_written && !limits.neutral) best.exclude(as_written);
    Selection start = improve(problem_, trees, limits.steps, best);
    if (has_written) {
      const Selection other = improve(problem_, as_written, limits.steps, best);
      if (*costs.of(other) < *costs.of(start)) start = other;
    }
    const ExactSelection exact = cheapest_selection(problem_, start, {.steps = limits.steps}, best);
    e.is_optimal = exact.is_optimal;
    // The next best graphs.
    improve(problem_, exact.selection, limits.steps, best);
    for (const BestSelections::Entry& entry : best.entries()) e.best.push_back({members_of(entry.selection), seconds_of(entry)});
    return e;
  }

 private:
  /// The classes that the outputs can need are numbered from 0.
  void make_problem() {
    numbers_.assign(static_cast<std::size_t>(classes_.added_terms()), -1);
    const auto number_of = [&](int root) {
      int& number = numbers_[static_cast<std::size_t>(root)];
      if (number < 0) number = static_cast<int>(roots_.size()), roots_.push_back(root);
      return number;
    };
    for (const graph::Output& o : written_.outputs())
      problem_.roots.push_back(number_of(classes_.find(all_.values[o.node.index]->ref).term));
    std::sort(problem_.roots.begin(), problem_.roots.end());
    problem_.roots.erase(std::unique(problem_.roots.begin(), problem_.roots.end()), problem_.roots.end());
    for (std::size_t c = 0; c < roots_.size(); ++c) {
      const int root = roots_[c];
      const std::vector<Member>& members = classes_.members(root);
      std::vector<ExtractionNode> nodes;
      for (std::size_t m = 0; m < members.size(); ++m) {
        const NodeSeconds cost = cost_.seconds(members[m].node, known_.holds_in_class(root));
        ExtractionNode n{.cost = cost.seconds + kSecondsOfNode, .operands = {}, .member = m, .is_kernel = cost.is_kernel};
        for (int operand : operand_classes(written_, all_, classes_, members[m].node)) n.operands.push_back(number_of(operand));
        std::sort(n.operands.begin(), n.operands.end());
        n.operands.erase(std::unique(n.operands.begin(), n.operands.end()), n.operands.end());
        nodes.push_back(std::move(n));
      }
      problem_.classes.push_back(std::move(nodes));
    }
    drop_dominated_nodes(problem_);
  }

  static double seconds_of(const BestSelections::Entry& entry) {
    const auto nodes = std::count_if(entry.selection.begin(), entry.selection.end(), [](int node) { return node >= 0; });
    return entry.cost - kSecondsOfNode * static_cast<double>(nodes);
  }

  /// The node as written where the problem has it.
  Selection written_selection(const Selection& others) const {
    Selection selection = others;
    for (std::size_t c = 0; c < roots_.size(); ++c)
      for (std::size_t i = 0; i < problem_.classes[c].size(); ++i)
        if (problem_.classes[c][i].member == written_members_[static_cast<std::size_t>(roots_[c])]) selection[c] = static_cast<int>(i);
    return selection;
  }

  std::vector<std::size_t> members_of(const Selection& selection) const {
    std::vector<std::size_t> members = written_members_;
    for (std::size_t c = 0; c < roots_.size(); ++c)
      if (selection[c] >= 0)
        members[static_cast<std::size_t>(roots_[c])] = problem_.classes[c][static_cast<std::size_t>(selection[c])].member;
    return members;
  }

  double seconds_written() {
    const PlainTerms source(all_.terms);
    double sum = 0;
    for (int term : needed_classes(written_, all_, {source})) sum += cost_.seconds(all_.terms.node(term), known_.holds(term)).seconds;
    return sum;
  }

  const graph::Graph& written_;
  const GraphTerms& all_;
  const EGraph& classes_;
  NodeCost cost_;
  KnownTerms known_;
  std::vector<int> numbers_, roots_;          // by class its number, and by number the class
  std::vector<std::size_t> written_members_;  // by class
  ExtractionProblem problem_;
};

}  // namespace

std::vector<int> operand_classes(const graph::Graph& written, const GraphTerms& all, const NodeSource& source, const Node& n) {
  std::vector<int> classes;
  for (int i = 0; i < operands_of(n); ++i) classes.push_back(source.find(n.in[static_cast<std::size_t>(i)]).term);
  if (const Leaf* leaf = all.leaf(n); leaf && leaf->kind == Leaf::Kind::node)
    for (graph::NodeId x : written.node(leaf->node).operands) classes.push_back(source.find(all.values[x.index]->ref).term);
  return classes;
}

std::vector<int> needed_classes(const graph::Graph& written, const GraphTerms& all, const Choice& choice) {
  enum class State : std::uint8_t { unseen, entered, done };
  std::vector<State> states(static_cast<std::size_t>(all.terms.size()));
  std::vector<int> needed, stack;
  for (const graph::Output& o : written.outputs()) stack.push_back(choice.source.find(all.values[o.node.index]->ref).term);
  std::reverse(stack.begin(), stack.end());
  while (!stack.empty()) {
    const int root = stack.back();
    State& state = states[static_cast<std::size_t>(root)];
    if (state != State::unseen) {
      stack.pop_back();
      if (state == State::entered) needed.push_back(root);
      state = State::done;
      continue;
    }
    state = State::entered;
    for (int operand : operand_classes(written, all, choice.source, choice.member(root).node)) {
      const State of_operand = states[static_cast<std::size_t>(operand)];
      if (of_operand == State::entered) return {};
      if (of_operand == State::unseen) stack.push_back(operand);
    }
  }
  return needed;
}

std::vector<std::size_t> members_as_written(const graph::Graph& written, const GraphTerms& all, const EGraph& classes) {
  std::vector<std::size_t> members(static_cast<std::size_t>(classes.added_terms()));
  std::vector<bool> is_set(members.size());
  const PlainTerms source(all.terms);
  for (int term : needed_classes(written, all, {source})) {
    const auto root = static_cast<std::size_t>(classes.find({term, {}}).term);
    if (is_set[root]) continue;
    const Node own = classes.normal(term).node;
    const std::vector<Member>& nodes = classes.members(static_cast<int>(root));
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Member& m) { return m.node == own; });
    if (found == nodes.end()) continue;
    members[root] = static_cast<std::size_t>(found - nodes.begin());
    is_set[root] = true;
  }
  return members;
}

Extraction extract(const graph::Graph& written, const GraphTerms& all, const EGraph& classes, const ir::TargetDesc& target,
                   const ExtractionLimits& limits) {
  return Extractor(written, all, classes, target).run(limits);
}

}  // namespace tilewright::passes::search
