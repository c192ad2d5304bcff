// Products with a common factor that become parts of one product.
#include "passes/search/extract/merge_products.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "passes/search/choose/search_graph.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "passes/search/rules/search_rules.h"
#include "passes/search/saturate/saturate.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tests/unit/passes/search/equations.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
constexpr ir::Element f32 = ir::Element::f32;

TEST_CASE("merges: they follow from the rules, are proved from the laws, and their proofs are replayed") {
  const DerivedRules& derived = derived_rules();
  REQUIRE(derived.merges.size() == 1);
  REQUIRE(search_merges().size() == 1);
  CHECK(text(search_merges()[0]) == text(derived.merges[0].merge));
  CHECK(text(search_merges()[0]) == "a * c, b * c : [a | b] * c");
  CHECK(name_of_rule(number_of_merge(0)) == "merge_of_factor");
  CHECK(name_of_rule(0) == search_rules()[0].name);
  for (const ProvedMerge& m : derived.merges)
    for (const ProvedRule& part : m.parts) {
      std::size_t axes = 0;
      for (const AxisUse& use : possible_axes(part.rule.equation)) axes += part.rule.conditions().allows(use.role, use.fate, use.variables);
      CHECK(axes > 0);
      CHECK(part.by_axis.size() == axes);
      REQUIRE(!part.found.steps.empty());
      CHECK_FALSE(wrong_step(part.found, part.found.steps.back().term, derived.laws));
      CHECK(wrong_step(part.found, part.found.start, derived.laws));
    }
}

TEST_CASE("merges: a condition that is dropped is refuted") {
  std::size_t dropped = 0;
  for (const Merge& m : search_merges())
    for (const Rule& part : m.parts)
      for (const AxisUse& use : possible_axes(part.equation)) {
        if (part.conditions().allows(use.role, use.fate, use.variables)) continue;
        const auto axes = with_axis(part.conditions().base, use);
        const std::optional<Counterexample> c = compare_sides(part.equation, axes);
        if (!c) CHECK_MESSAGE(!instance_of(part.equation, axes), text(part.equation));
        dropped += c ? 1 : 0;
      }
  CHECK(dropped > 3);
}

/// Compares what is merged with what it is part of, in the interpreter. Returns the number of merges.
std::size_t check_merges(const Graph& written, std::uint64_t seed) {
  GraphTerms all = graph_to_terms(written);
  SaturatedGraph saturated(written, all);
  const NodeCost cost(written, all, {});
  const auto merges = merged_products(written, all, saturated.classes(), cost);
  Graph g = written;
  std::vector<Ref> terms;
  for (const Saturation::Application& a : merges) terms.push_back(a.before), terms.push_back(a.after);
  const std::vector<NodeId> values = append_terms(g, all, {PlainTerms(all.terms)}, terms);
  Graph outputs = g;
  for (std::size_t i = 0; i < terms.size(); ++i) outputs.add_output({fmt::format("term {}", i), values[i], {}});
  const auto results = graph::interpret(outputs, fusion::test::random_arguments(written, {}, seed), graph::Rounding::double_precision);
  for (std::size_t i = 0; i < terms.size(); i += 2)
    CHECK(agree(results.at(fmt::format("term {}", i)), results.at(fmt::format("term {}", i + 1))));
  return merges.size();
}

TEST_CASE("merges: products of random axes are equal to the parts of their merged product") {
  std::mt19937 random(3);
  const auto draw = [&](int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); };
  std::size_t merges = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    Graph g;
    GraphBuilder b(g, "test", {}, graph::kMaxRank);
    // Axes of x: batches and rows are kept, the others are summed. Own axes of weights are u and v.
    const std::string batches = draw(2) == 0 ? "" : "h", rows = draw(3) == 0 ? "" : "n", summed = draw(2) == 0 ? "k" : "kl";
    const std::string own = draw(2) == 0 ? "u" : "uv";
    const auto extent = [&](char axis) { return Dim(axis == 'h' ? 2 : axis == 'n' ? 5 : axis == 'k' ? 3 : axis == 'l' ? 4 : 2); };
    const auto shuffled = [&](std::string axes) {
      std::shuffle(axes.begin(), axes.end(), random);
      return axes;
    };
    const auto shape = [&](const std::string& axes, const Dim& of_u) {
      graph::TensorShape s;
      for (char axis : axes) s.push_back(axis == 'u' ? of_u : extent(axis));
      return s;
    };
    const std::string of_x = shuffled(batches + rows + summed);
    const NodeId x = b.input("x", f32, shape(of_x, 1));
    const std::string of_weights = shuffled(batches + summed + own);
    for (int i = 0, count = 2 + draw(4); i < count; ++i) {
      const Dim u = draw(2) == 0 ? 3 : 1 + draw(4);
      const std::string of_w = draw(3) == 0 ? shuffled(of_weights) : of_weights, result = shuffled(batches + rows + own);
      const NodeId w = b.input(fmt::format("w{}", i), f32, shape(of_w, u), {}, true);
      b.output(fmt::format("o{}", i), b.einsum(fmt::format("{},{}->{}", of_x, of_w, result), {x, w}, f32));
    }
    merges += check_merges(g, static_cast<std::uint64_t>(round));
  }
  CHECK(merges > 300);
}

TEST_CASE("merges: nothing is merged that would be copied in each run, or that saves little") {
  const auto merges_of_widths = [](int rows, int width, bool are_parameters) {
    Graph g;
    GraphBuilder b(g, "test", {}, graph::kMaxRank);
    const NodeId x = b.input("x", f32, {rows, width});
    for (int i = 0; i < 2; ++i)
      b.output(fmt::format("o{}", i),
               b.einsum("ij,jk->ik", {x, b.input(fmt::format("w{}", i), f32, {width, width}, {}, are_parameters)}, f32));
    GraphTerms all = graph_to_terms(g);
    const SaturatedGraph saturated(g, all);
    return merged_products(g, all, saturated.classes(), {g, all, {}}).size();
  };
  CHECK(merges_of_widths(4, 64, true) == 2);
  CHECK(merges_of_widths(4, 64, false) == 0);
  CHECK(merges_of_widths(1024, 1024, true) == 0);
}

/// Estimates one second for each product of a run.
Judge judge_by_products() {
  return {.estimate = [](const Graph& g) -> std::optional<SearchEstimate> {
            double products = 1e-3;
            const std::vector<bool> needed = g.needed_nodes();
            for (std::uint32_t i = 0; i < g.size(); ++i) products += needed[i] && g.node({i}).op == graph::Op::einsum ? 1 : 0;
            return SearchEstimate{products, products, products};
          },
          .difference = [](const Graph&, std::span<const EqualValues>) -> std::optional<std::string> { return std::nullopt; }};
}

TEST_CASE("merges: three products of one factor are one, which stays in memory, and the report says so") {
  const Graph g = graph::parse(R"(graph {
  %x = input : f32[4, 32]
  %q = input {is_parameter} : f32[32, 16]
  %k = input {is_parameter} : f32[32, 16]
  %v = input {is_parameter} : f32[32, 24]
  %0 = einsum %x, %q {text = "ij,jk->ik"} : f32[4, 16]
  %1 = einsum %x, %k {text = "ij,jk->ik"} : f32[4, 16]
  %2 = einsum %x, %v {text = "ij,jk->ik"} : f32[4, 24]
  %3 = tanh %2 : f32[4, 24]
  output "a" %0
  output "b" %1
  output "c" %3
})",
                               "projections");
  const SearchResult r = search_graph(g, {}, {}, judge_by_products());
  REQUIRE(r.graph);
  CHECK(r.seconds_before > 2.9 * r.seconds_after);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].rule == "merge_of_factor");
  CHECK(r.rewritings[0].before == "x q, x k, x v");
  CHECK(r.rewritings[0].covers == std::vector<NodeId>{{4}, {5}, {6}});
  const std::string text = graph::print(*r.graph);
  CHECK_MESSAGE(text.find("concat %q, %k, %v {axes = [1]} : f32[32, 56]") != std::string::npos, text);
  CHECK_MESSAGE(text.find("materialize") != std::string::npos, text);
  const graph::Arguments arguments = fusion::test::random_arguments(g, {}, 1);
  const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
  const auto got = graph::interpret(*r.graph, arguments, graph::Rounding::double_precision);
  for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name)), name);
  CHECK(graph::print(*search_graph(g, {}, {}, judge_by_products()).graph) == text);
}

}  // namespace
}  // namespace tilewright::passes::search
