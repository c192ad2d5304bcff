// Estimates of whole graphs.
#include "passes/fusion/sequence/estimate_graph.h"

#include <doctest/doctest.h>

#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion {
namespace {

TEST_CASE("estimate_graph: what an estimator knows from other graphs changes no estimate") {
  const ir::TargetDesc cpu{};
  GraphEstimator shared({}, cpu);
  int estimated = 0;
  for (int variant = 0; variant < 2; ++variant)
    for (const test::Workload& w : test::workloads()) {
      CAPTURE(w.name);
      graph::Graph g;
      test::Variants variants;
      w.build(g, variants);
      const std::optional<GraphEstimate> own = estimate_graph(g, {}, cpu), other = shared(g);
      REQUIRE(own.has_value() == other.has_value());
      if (!own) continue;
      ++estimated;
      CHECK(own->seconds == other->seconds);
      CHECK(own->seconds_if_small == other->seconds_if_small);
      CHECK(own->seconds_if_large == other->seconds_if_large);
      CHECK(own->kernels == other->kernels);
    }
  CHECK(estimated > 60);
}

TEST_CASE("estimate_graph: the kernels of a segment that two graphs have take as long in both") {
  const char* const kFirst = R"(graph {
  %x = input : f32[600, 80]
  %w = input : f32[80, 600]
  %0 = einsum %x, %w {text = "ij,jk->ik"} : f32[600, 600]
  %1 = materialize %0 : f32[600, 600]
)";
  const graph::Graph sum = graph::parse(std::string(kFirst) + R"(  %2 = reduce %1 {kind = sum, axes = [1]} : f32[600]
  output "y" %2
})",
                                        "sum"),
                     most = graph::parse(std::string(kFirst) + R"(  %2 = reduce %1 {kind = max, axes = [0]} : f32[600]
  output "y" %2
})",
                                         "max");
  const ir::TargetDesc cpu{};
  GraphEstimator estimate({}, cpu);
  const std::optional<GraphEstimate> a = estimate(sum), b = estimate(most);
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(a->kernels.size() == 2);
  REQUIRE(b->kernels.size() == 2);
  CHECK(a->kernels[0] == b->kernels[0]);
  CHECK(b->kernels == estimate_graph(most, {}, cpu)->kernels);
}

TEST_CASE("estimate_graph: graphs of which fusion makes the same kernels have the same formulas, and others do not") {
  const auto formulas = [](const std::string& nodes) {
    return GraphEstimator({}, {}).formulas(
        graph::parse("graph {\n  %x = input : f32[64, 32]\n  %y = input : f32[64, 32]\n" + nodes + "}", "formulas"));
  };
  const std::string sum = R"(  %0 = mul %x, %y : f32[64, 32]
  %1 = reduce %0 {kind = sum, axes = [1]} : f32[64]
  output "s" %1
)";
  REQUIRE(formulas(sum));
  CHECK(formulas(sum) == formulas(R"(  %0 = einsum %y, %x {text = "ik,ik->i", precision = ieee} : f32[64]
  output "s" %0
)"));
  CHECK(formulas(sum) == formulas(R"(  %0 = permute %y {axes = [1, 0]} : f32[32, 64]
  %1 = permute %x {axes = [1, 0]} : f32[32, 64]
  %2 = mul %1, %0 : f32[32, 64]
  %3 = reduce %2 {kind = sum, axes = [0]} : f32[64]
  output "s" %3
)"));
  // Other tensors, another sum, another extent of what is read.
  CHECK(formulas(sum) != formulas(R"(  %0 = mul %x, %x : f32[64, 32]
  %1 = reduce %0 {kind = sum, axes = [1]} : f32[64]
  output "s" %1
)"));
  CHECK(formulas(sum) != formulas(R"(  %0 = add %x, %y : f32[64, 32]
  %1 = reduce %0 {kind = sum, axes = [1]} : f32[64]
  output "s" %1
)"));
  const auto of_extent = [](int n) {
    const std::string text = "graph {\n  %x = input : f32[" + std::to_string(n) + R"(]
  %0 = reduce %x {kind = sum, axes = [0]} : f32
  output "s" %0
})";
    return GraphEstimator({}, {}).formulas(graph::parse(text, "extent"));
  };
  CHECK(of_extent(64) == of_extent(64));
  CHECK(of_extent(64) != of_extent(65));
  // The order of products is one that fusion keeps.
  const auto product = [&](const char* first, const char* second) {
    return formulas(std::string("  %w = input : f32[32, 64]\n") + first + second + "  output \"p\" %1\n");
  };
  CHECK(product("  %0 = einsum %x, %w {text = \"ij,jk->ik\"} : f32[64, 64]\n",
                "  %1 = einsum %0, %y {text = \"ik,kl->il\"} : f32[64, 32]\n") !=
        product("  %0 = einsum %w, %y {text = \"jk,kl->jl\"} : f32[32, 32]\n",
                "  %1 = einsum %x, %0 {text = \"ij,jl->il\"} : f32[64, 32]\n"));
}

}  // namespace
}  // namespace tilewright::passes::fusion
