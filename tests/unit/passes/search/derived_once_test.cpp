// The comparison of a whole rewritten graph with the graph as written: its kernels are derived once, and have the seconds of the estimate.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tests/unit/passes/search/judge_by_fusion.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;

// Layers x + tanh(x (a b)), each with an a and b of its own.
Graph layers(int count) {
  std::string text = "graph {\n  %x0 = input : f32[4, 512]\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  %a{0} = input : f32[512, 2]\n  %b{0} = input : f32[2, 512]\n", i);
    text += fmt::format("  %p{0} = einsum %a{0}, %b{0} {{text = \"ij,jk->ik\"}} : f32[512, 512]\n", i);
    text += fmt::format("  %t{0} = einsum %x{0}, %p{0} {{text = \"ij,jk->ik\"}} : f32[4, 512]\n  %f{0} = tanh %t{0} : f32[4, 512]\n", i);
    text += fmt::format("  %x{1} = add %x{0}, %f{0} : f32[4, 512]\n", i, i + 1);
  }
  return graph::parse(text + fmt::format("  output \"o\" %x{}\n}}", count), "layers");
}

TEST_CASE("build_sequence: the kernels of a graph have the seconds of its estimate") {
  int compared = 0;
  const auto compare = [&](const Graph& g, const ir::TargetDesc& target) {
    const fusion::KernelSequence derived = fusion::build_sequence(g, {}, target);
    if (!derived.seconds) return;
    const std::optional<fusion::GraphEstimate> estimated = fusion::estimate_graph(g, {}, target);
    REQUIRE(estimated);
    CHECK(*derived.seconds == estimated->seconds);
    ++compared;
  };
  for (const fusion::test::Workload& w : fusion::test::workloads()) {
    CAPTURE(w.name);
    Graph g;
    fusion::test::Variants variants;
    w.build(g, variants);
    compare(g, {});
  }
  ir::TargetDesc gpu;
  gpu.sm = 90;
  for (const ir::TargetDesc& target : {ir::TargetDesc(), gpu}) compare(layers(20), target);
  CHECK(compared > 30);
}

TEST_CASE("search_graph: the kernels of the whole rewritten graph are derived, and it is not estimated") {
  const Graph g = layers(20);
  int of_whole = 0;
  std::vector<std::string> derived;
  std::optional<double> seconds;
  Judge judge = judge_by_fusion();
  judge.estimate = [&, estimate = judge.estimate](const Graph& x) {
    of_whole += x.outputs()[0].name == "o" ? 1 : 0;
    return estimate(x);
  };
  judge.derive = [&](const Graph& x) {
    derived.push_back(graph::print(x));
    return seconds = fusion::build_sequence(x, {}, {}).seconds;
  };
  const SearchResult r = search_graph(g, {}, {}, judge);
  REQUIRE(r.graph);
  CHECK(of_whole == 1);  // the graph as written
  REQUIRE(derived.size() == 1);
  CHECK(derived[0] == graph::print(*r.graph));
  CHECK(r.seconds_after == seconds);
  // Where its kernels have no estimate, the graph is estimated.
  judge.derive = [](const Graph&) { return std::nullopt; };
  of_whole = 0;
  CHECK(search_graph(g, {}, {}, judge).seconds_after == r.seconds_after);
  CHECK(of_whole == 2);
  // One that takes no less time is not taken.
  judge.derive = [](const Graph&) { return 1.0; };
  CHECK(!search_graph(g, {}, {}, judge).graph);
}

}  // namespace
}  // namespace tilewright::passes::search
