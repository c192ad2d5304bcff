// Products of one value with several parameters, of which functions are concatenated: one product with the concatenated parameters.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "passes/search/choose/search_graph.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/saturate/saturate.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tests/unit/passes/search/judge_by_fusion.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;

/// Two formulas of x w and x v side by side.
std::string branches(const char* first, const char* second, bool are_parameters = true) {
  const char* kind = are_parameters ? " {is_parameter}" : "";
  return fmt::format(R"(graph {{
  %x = input : f32[784, 192]
  %w = input{2} : f32[192, 128]
  %v = input{2} : f32[192, 80]
  %c = constant {{data = [0.0]}} : f32
  %d = constant {{data = [1.0]}} : f32
  %e = input : i1
  %0 = einsum %x, %w {{text = "ij,jk->ik"}} : f32[784, 128]
  %1 = einsum %x, %v {{text = "ij,jk->ik"}} : f32[784, 80]
  %2 = {0} : f32[784, 128]
  %3 = {1} : f32[784, 80]
  %4 = concat %2, %3 {{axes = [1]}} : f32[784, 208]
  output "y" %4
}})",
                     first, second, kind);
}

TEST_CASE("functions of concatenations: the scalars beside an operand are part of the function") {
  struct Case {
    const char *first, *second;
    bool is_one_product;
  };
  const Case cases[] = {{"tanh %0", "tanh %1", true},
                        {"maximum %0, %c", "maximum %1, %c", true},
                        {"maximum %c, %0", "maximum %c, %1", true},
                        {"select %e, %0, %c", "select %e, %1, %c", true},
                        {"maximum %0, %c", "maximum %1, %d", false},
                        {"maximum %0, %c", "minimum %1, %c", false},
                        {"pow %0, %d", "pow %d, %1", false},
                        {"select %e, %0, %c", "select %e, %1, %d", false},
                        {"maximum %0, %c", "tanh %1", false}};
  for (const Case& c : cases) {
    const std::string text = branches(c.first, c.second);
    CAPTURE(text);
    const Graph g = graph::parse(text, "branches");
    GraphTerms all = graph_to_terms(g);
    const SaturatedGraph saturated(g, all);
    CHECK(saturated.is_complete());
    const int result = saturated.classes().find(all.values[g.outputs()[0].node.index]->ref).term;
    const auto& members = saturated.classes().members(result);
    CHECK(std::ranges::any_of(members, [](const Member& m) { return m.node.op == Op::function; }) == c.is_one_product);
  }
}

TEST_CASE("functions of concatenations: parameters that a product joins are joined before a run, inputs in each run") {
  SearchOptions options;
  options.gain = 0;
  const Judge by_products = {.estimate = [](const Graph& g) -> std::optional<SearchEstimate> {
                               double products = 1;
                               const std::vector<bool> needed = g.needed_nodes();
                               for (std::uint32_t i = 0; i < g.size(); ++i)
                                 products += needed[i] && g.node({i}).op == graph::Op::einsum ? 1 : 0;
                               return SearchEstimate{products, products, products};
                             },
                             .difference = difference};
  for (const bool are_parameters : {true, false}) {
    CAPTURE(are_parameters);
    const Graph g = graph::parse(branches("maximum %0, %c", "maximum %1, %c", are_parameters), "branches");
    const SearchResult r = search_graph(g, options, {}, by_products);
    REQUIRE(r.graph);
    const std::string text = graph::print(*r.graph);
    CHECK_MESSAGE(text.find("concat %w, %v {axes = [1]} : f32[192, 208]") != std::string::npos, text);
    CHECK_MESSAGE((text.find("materialize") != std::string::npos) == are_parameters, text);
    const graph::Arguments arguments = fusion::test::random_arguments(g, {}, 1);
    const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
    const auto got = graph::interpret(*r.graph, arguments, graph::Rounding::double_precision);
    CHECK(agree(want.at("y"), got.at("y")));
  }
}

TEST_CASE("functions of concatenations: on GPUs one product is taken where it is faster by the estimate") {
  const Graph g = graph::parse(branches("maximum %0, %c", "maximum %1, %c"), "branches");
  for (const ir::TargetDesc& target : {fusion::test::kAmpere, fusion::test::kHopper}) {
    const Judge judge = judge_by_fusion(target);
    const SearchResult r = search_graph(g, {}, target, judge);
    REQUIRE(r.graph);
    CHECK(r.rewritings[0].rule == "cat_of_function, cat_of_factor");
    CHECK(judge.estimate(*r.graph)->kernels.size() == 1);
    CHECK(r.seconds_before > 1.2 * r.seconds_after);
  }
}

}  // namespace
}  // namespace tilewright::passes::search
