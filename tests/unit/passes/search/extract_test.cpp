// Extraction: what is chosen computes the same, costs no more where each value has one user, and is what a person would write.
#include "passes/search/extract/extract.h"

#include <doctest/doctest.h>

#include "passes/fusion/check/instance_check.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/saturate/saturate.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::NodeId;

/// Formulas as users write them, and how many times as fast the costs say that they can be, at least.
struct Slow {
  const char* name;
  double gain;
  const char* text;
};

constexpr Slow kSlow[] = {
    {"linear attention", 8, R"(graph {
  %q = input : f32[4096, 64]
  %k = input : f32[4096, 64]
  %v = input : f32[4096, 64]
  %0 = einsum %q, %k {text = "qd,kd->qk"} : f32[4096, 4096]
  %1 = einsum %0, %v {text = "qk,ke->qe"} : f32[4096, 64]
  output "o" %1
})"},
    {"linear attention of heads, any length", 2, R"(graph {
  symbol n {min = 1}
  %q = input : f32[n, 512]
  %k = input : f32[n, 512]
  %v = input : f32[n, 512]
  %0 = reshape %q : f32[n, 8, 64]
  %1 = reshape %k : f32[n, 8, 64]
  %2 = reshape %v : f32[n, 8, 64]
  %3 = einsum %0, %1 {text = "qhd,khd->hqk"} : f32[8, n, n]
  %4 = einsum %3, %2 {text = "hqk,khe->qhe"} : f32[n, 8, 64]
  %5 = reshape %4 : f32[n, 512]
  output "o" %5
})"},
    {"mean of rows", 5, R"(graph {
  %x = input : f32[512, 768]
  %w = input {is_parameter} : f32[768, 1000]
  %0 = einsum %x, %w {text = "ij,jk->ik"} : f32[512, 1000]
  %1 = reduce %0 {kind = sum, axes = [0]} : f32[1000]
  %2 = constant {data = [512.0]} : f32
  %3 = div %1, %2 : f32[1000]
  output "o" %3
})"},
    {"product of three", 4, R"(graph {
  %x = input : f32[1000, 16]
  %y = input : f32[16, 1000]
  %z = input : f32[1000, 16]
  %0 = einsum %x, %y {text = "ij,jk->ik"} : f32[1000, 1000]
  %1 = einsum %0, %z {text = "ij,jk->ik"} : f32[1000, 16]
  output "o" %1
})"},
    {"product with a vector", 1.9, R"(graph {
  %x = input : f32[8192, 256]
  %v = input : f32[256]
  %0 = einsum %x, %x {text = "ki,kj->ij"} : f32[256, 256]
  %1 = einsum %0, %v {text = "ij,j->i"} : f32[256]
  output "o" %1
})"},
    {"pairs of rows", 5, R"(graph {
  %h = input : f32[128, 64]
  %w = input {is_parameter} : f32[64, 64]
  %0 = reshape %h : f32[128, 1, 64]
  %1 = add %0, %h : f32[128, 128, 64]
  %2 = einsum %1, %w {text = "ijc,cd->ijd"} : f32[128, 128, 64]
  %3 = constant {data = [0.0]} : f32
  %4 = maximum %2, %3 : f32[128, 128, 64]
  output "o" %4
})"},
    {"two factors that are parameters", 1.5, R"(graph {
  %x = input : f32[2048, 512]
  %v = input {is_parameter} : f32[512, 2048]
  %w = input {is_parameter} : f32[2048, 512]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : f32[2048, 2048]
  %1 = einsum %0, %w {text = "ij,jk->ik"} : f32[2048, 512]
  output "o" %1
})"},
    {"one input and two parameters", 1.5, R"(graph {
  %x = input : f32[2048, 512]
  %v = input {is_parameter} : f32[512, 512]
  %w = input {is_parameter} : f32[512, 512]
  %0 = einsum %x, %v {text = "ij,jk->ik"} : f32[2048, 512]
  %1 = einsum %x, %w {text = "ij,jk->ik"} : f32[2048, 512]
  %2 = add %0, %1 : f32[2048, 512]
  output "o" %2
})"},
};

TEST_CASE("extract: formulas as users write them become cheaper, and stay equal at small instances") {
  for (const Slow& s : kSlow) {
    CAPTURE(s.name);
    const Graph g = graph::parse(s.text, s.name);
    GraphTerms all = graph_to_terms(g);
    const SaturatedGraph saturated(g, all);
    CHECK(saturated.is_complete());
    const Extraction e = extract(g, all, saturated.classes(), {});
    CHECK(e.is_optimal);
    REQUIRE(!e.best.empty());
    CHECK(e.seconds_written > s.gain * e.best[0].seconds);
    std::vector<NodeId> nodes;
    for (const graph::Output& o : g.outputs()) nodes.push_back(o.node);
    Graph both = g;
    const std::vector<NodeId> values = append_values(both, all, {saturated.classes(), e.best[0].members}, nodes);
    std::vector<fusion::RewrittenValue> pairs;
    for (std::size_t i = 0; i < values.size(); ++i) pairs.push_back({nodes[i], values[i]});
    nodes.insert(nodes.end(), values.begin(), values.end());
    const fusion::ProofResult result = fusion::InstanceCheck(both).run(fusion::AxisAnalysis(both, nodes, {}), pairs);
    CHECK_MESSAGE(!result.is_refuted, result.text);
    CHECK(result.left_open.empty());
  }
}

TEST_CASE("extract: what is chosen for random graphs computes the same in the interpreter") {
  int cheaper = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    GraphTerms all = graph_to_terms(g);
    const SaturatedGraph saturated(g, all, {.nodes = 500, .rounds = 4, .expand_differences = seed % 2 == 0, .neutral_moves = true});
    const Extraction e = extract(g, all, saturated.classes(), {}, {.neutral = true});
    cheaper += e.best.empty() ? 0 : 1;
    const graph::Arguments arguments = fusion::test::random_arguments(g, {}, seed);
    const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
    for (std::size_t i = 0; i < e.best.size(); ++i) {
      CAPTURE(i);
      CHECK(e.best[i].seconds < e.seconds_written);
      if (i > 0) CHECK(e.best[i].seconds >= e.best[i - 1].seconds);
      const Graph rewritten = terms_to_graph(g, all, {saturated.classes(), e.best[i].members});
      const auto got = graph::interpret(rewritten, arguments, graph::Rounding::double_precision);
      for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name)), name);
    }
  }
  CHECK(cheaper > 100);
}

}  // namespace
}  // namespace tilewright::passes::search
