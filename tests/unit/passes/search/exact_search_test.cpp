// Exact extraction against all selections of random e-graphs.
#include "passes/search/extract/exact_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "passes/search/extract/local_search.h"

namespace tilewright::passes::search {
namespace {

/// Up to 12 classes of up to 5 nodes; every third problem has cycles.
ExtractionProblem random_problem(std::mt19937& random, bool has_cycles) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  ExtractionProblem p;
  const int count = 3 + below(10);
  for (int c = 0; c < count; ++c) {
    std::vector<ExtractionNode>& nodes = p.classes.emplace_back();
    const int own = 1 + below(4);
    for (int i = 0; i < own; ++i) {
      ExtractionNode n;
      n.cost = below(20) * 0.5 + (below(3) == 0 ? 5 : 0);
      n.is_kernel = true;
      n.member = static_cast<std::size_t>(i);
      for (int k = below(4); k-- > 0;) {
        const int operand = has_cycles ? below(count) : c + 1 < count ? c + 1 + below(count - c - 1) : c;
        if (operand != c) n.operands.push_back(operand);
      }
      std::sort(n.operands.begin(), n.operands.end());
      n.operands.erase(std::unique(n.operands.begin(), n.operands.end()), n.operands.end());
      nodes.push_back(n);
    }
    if (has_cycles && below(2) == 0) nodes.push_back({.cost = 8.0 + below(9), .operands = {}, .member = 9, .is_kernel = true});
  }
  p.roots = {0};
  if (count > 5 && below(2) == 0) p.roots.push_back(1);
  return p;
}

/// The costs of all selections without a cycle.
std::vector<double> all_costs(const ExtractionProblem& p) {
  std::vector<double> found;
  Selection selection(p.classes.size(), -1);
  SelectionCost costs(p);
  const std::function<void(std::vector<int>, std::vector<bool>)> go = [&](std::vector<int> open, const std::vector<bool>& is_needed) {
    if (open.empty()) {
      if (const auto cost = costs.of(selection)) found.push_back(*cost);
      return;
    }
    const auto c = static_cast<std::size_t>(open.back());
    open.pop_back();
    for (std::size_t i = 0; i < p.classes[c].size(); ++i) {
      selection[c] = static_cast<int>(i);
      std::vector<int> more = open;
      std::vector<bool> needed = is_needed;
      for (int k : p.classes[c][i].operands)
        if (!needed[static_cast<std::size_t>(k)]) needed[static_cast<std::size_t>(k)] = true, more.push_back(k);
      go(more, needed);
    }
  };
  std::vector<bool> needed(p.classes.size());
  for (int root : p.roots) needed[static_cast<std::size_t>(root)] = true;
  go(p.roots, needed);
  std::sort(found.begin(), found.end());
  return found;
}

TEST_CASE("exact_search: finds the cheapest selection of random e-graphs, where greedy ones and local search do not") {
  std::mt19937 random(7);
  int problems = 0, greedy_is_dearer = 0, local_is_dearer = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    ExtractionProblem p = random_problem(random, seed % 3 == 0);
    const std::vector<double> costs = all_costs(p);
    drop_dominated_nodes(p);
    const Selection trees = cheapest_trees(p);
    const bool has_all = std::all_of(p.roots.begin(), p.roots.end(), [&](int r) { return trees[static_cast<std::size_t>(r)] >= 0; });
    CHECK(has_all == !costs.empty());
    if (!has_all) continue;
    ++problems;
    BestSelections best(p, 4);
    const double greedy = *best.add(trees);
    const Selection better = improve(p, trees, 1'000'000, best);
    const double local = *best.add(better);
    const ExactSelection exact = cheapest_selection(p, better, {.gap = 0}, best);
    CHECK(exact.is_optimal);
    SelectionCost cost(p);
    CHECK(*cost.of(exact.selection) == doctest::Approx(costs[0]));
    greedy_is_dearer += greedy > costs[0] + 1e-9 ? 1 : 0;
    local_is_dearer += local > costs[0] + 1e-9 ? 1 : 0;
    // What is kept is in order, different, and begins with the cheapest one.
    const auto& entries = best.entries();
    REQUIRE(!entries.empty());
    CHECK(entries[0].cost == doctest::Approx(costs[0]));
    for (std::size_t i = 0; i < entries.size(); ++i) {
      CHECK(*cost.of(entries[i].selection) == doctest::Approx(entries[i].cost));
      if (i > 0) CHECK(entries[i].cost >= entries[i - 1].cost);
      for (std::size_t k = 0; k < i; ++k) CHECK(entries[i].selection != entries[k].selection);
    }
  }
  CHECK(problems > 1400);
  CHECK(greedy_is_dearer > 100);
  CHECK(local_is_dearer > 5);
}

TEST_CASE("exact_search: says so where its steps end before the proof") {
  std::mt19937 random(3);
  int limited = 0;
  for (int seed = 0; seed < 100; ++seed) {
    ExtractionProblem p = random_problem(random, false);
    drop_dominated_nodes(p);
    BestSelections best(p, 1);
    const Selection start = cheapest_trees(p);
    const double before = *best.add(start);
    const ExactSelection exact = cheapest_selection(p, start, {.steps = 10, .gap = 0}, best);
    limited += exact.is_optimal ? 0 : 1;
    CHECK(*SelectionCost(p).of(exact.selection) <= before);
    CHECK(!cheapest_selection(p, start, {.classes = 1}, best).is_optimal);
  }
  CHECK(limited > 10);
}

}  // namespace
}  // namespace tilewright::passes::search
