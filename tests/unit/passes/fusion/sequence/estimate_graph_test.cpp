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

}  // namespace
}  // namespace tilewright::passes::fusion
