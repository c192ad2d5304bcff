// The search of whole graphs: what it chooses, why it leaves graphs as they are, and that what it gives is equal.
#include "passes/search/choose/search_graph.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tests/unit/passes/search/judge_by_fusion.h"
#include "tileir/graph/einsum.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::NodeId;

/// Multiplications of all products, with the extents of the graph.
double multiplications(const Graph& g) {
  double all = 0;
  const std::vector<bool> needed = g.needed_nodes();
  for (std::uint32_t i = 0; i < g.size(); ++i) {
    const graph::Node& n = g.node({i});
    if (n.op != graph::Op::einsum || !needed[i]) continue;
    const graph::Equation e = graph::parse_equation(n.text, false).equation;
    std::map<char, double> extents;
    for (std::size_t k = 0; k < n.operands.size(); ++k)
      for (std::size_t axis = 0; axis < e.operands[k].size(); ++axis)
        extents[e.operands[k][axis]] = static_cast<double>(g.node(n.operands[k]).shape[axis].value());
    double count = 1;
    for (const auto& [label, extent] : extents) count *= extent;
    all += count;
  }
  return all;
}

/// Judges by a function of the graph.
template <class Seconds>
Judge judge_by(Seconds seconds) {
  return {.estimate = [=](const Graph& g) -> std::optional<SearchEstimate> {
            const double s = seconds(g);
            return SearchEstimate{s, s, s};
          },
          .difference = difference};
}
const Judge kByMultiplications = judge_by([](const Graph& g) { return 1e-9 * (1 + multiplications(g)); });

const char* const kAttention = R"(graph {
  %q = input : f32[2048, 64]
  %k = input : f32[2048, 64]
  %v = input : f32[2048, 64]
  %scores = einsum %q, %k {text = "id,jd->ij"} : f32[2048, 2048]
  %0 = einsum %scores, %v {text = "ij,je->ie"} : f32[2048, 64]
  output "o" %0
})";

TEST_CASE("search_graph: rewrites by fusion's estimate, says what, and gives a graph that is read again") {
  const Graph g = graph::parse(kAttention, "attention");
  const SearchResult r = search_graph(g, {}, {}, judge_by_fusion());
  REQUIRE(r.graph);
  CHECK(r.is_complete);
  CHECK(r.is_optimal);
  CHECK(r.regions == 1);
  CHECK(r.seconds_before > 4 * r.seconds_after);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].rule == "order");
  CHECK(r.rewritings[0].before == "(q k) v");
  CHECK(r.rewritings[0].after == "q (k v)");
  CHECK(r.rewritings[0].saved_seconds == doctest::Approx(r.seconds_before - r.seconds_after));
  CHECK(r.rewritings[0].covers == std::vector<NodeId>{{3}, {4}});
  CHECK(graph::print(graph::parse(graph::print(*r.graph), "again")) == graph::print(*r.graph));
  CHECK(multiplications(*r.graph) == 2.0 * 2048 * 64 * 64);
  CHECK(graph::print(*search_graph(g, {}, {}, judge_by_fusion()).graph) == graph::print(*r.graph));
}

TEST_CASE("search_graph: the normal equations share what they multiply") {
  const Graph g = graph::parse(R"(graph {
  %X = input : f32[4000, 100]
  %w = input : f32[100, 1]
  %y = input : f32[4000, 1]
  %gram = einsum %X, %X {text = "ki,kj->ij"} : f32[100, 100]
  %0 = einsum %gram, %w {text = "ij,jc->ic"} : f32[100, 1]
  %1 = einsum %X, %y {text = "ki,kc->ic"} : f32[100, 1]
  %2 = sub %0, %1 : f32[100, 1]
  output "o" %2
})",
                               "normal equations");
  const SearchResult r = search_graph(g, {}, {}, judge_by_fusion());
  REQUIRE(r.graph);
  CHECK(multiplications(*r.graph) <= 3.0 * 4000 * 100);
}

TEST_CASE("search_graph: a graph stays as written without enough gain, where it loses for other symbols, and where it would differ") {
  const Graph g = graph::parse(kAttention, "attention");
  const double as_written = multiplications(g);
  // 1.1 times as fast.
  SearchResult r = search_graph(g, {}, {}, judge_by([=](const Graph& x) { return multiplications(x) < as_written ? 10e-3 : 11e-3; }));
  CHECK(!r.graph);
  CHECK(r.rewritings.empty());
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0] ==
        "order  (q k) v  ->  q (k v): 1.10 times as fast, less than 1.2: about 10 ms instead of 11 ms; a launch takes 3 us");
  CHECK(
      search_graph(g, {.gain = 1.05}, {}, judge_by([=](const Graph& x) { return multiplications(x) < as_written ? 10e-3 : 11e-3; })).graph);

  // Cheaper by the costs of operations, slower by the estimate.
  r = search_graph(g, {}, {}, judge_by([=](const Graph& x) { return multiplications(x) < as_written ? 17e-6 : 13.5e-6; }));
  CHECK(!r.graph);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0] == "order  (q k) v  ->  q (k v): about 17 us instead of 13.5 us; a launch takes 3 us");
  CHECK(r.unchanged.empty());

  for (bool is_small : {false, true}) {
    Judge slower{.estimate = [=](const Graph& x) -> std::optional<SearchEstimate> {
                   const double lost = multiplications(x) < as_written ? 7e-6 : 0;
                   return SearchEstimate{lost > 0 ? 1e-3 : 2e-3, is_small ? lost : 0, is_small ? 0 : lost};
                 },
                 .difference = difference};
    r = search_graph(g, {}, {}, slower);
    CHECK(!r.graph);
    REQUIRE(r.not_done.size() == 1);
    CHECK(r.not_done[0].find("symbols") != std::string::npos);
    CHECK(search_graph(g, {.launch_seconds = 4e-6}, {}, slower).graph);
  }

  r = search_graph(g, {}, {}, {kByMultiplications.estimate, [](const Graph&, auto) { return std::optional<std::string>("1 is 2"); }});
  CHECK(!r.graph);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0] == "order  (q k) v  ->  q (k v): at a small instance 1 is 2");
  r = search_graph(g, {}, {}, {[](const Graph&) { return std::optional<SearchEstimate>(); }, difference});
  CHECK(!r.graph);
  CHECK(r.unchanged == std::vector<std::string>{"einsum: a part of it is computed node by node, and is not estimated"});
}

TEST_CASE("search: kernels that both graphs have count in neither, and what is kept is copied as it was written") {
  // The channels are multiplied before pairs of positions are added up, behind a convolution that takes ten times as long.
  const Graph g = graph::parse(R"(graph {
  %x = input : f32[10, 4]
  %v = input : f32[3, 4, 8]
  %w = input : f32[8, 6]
  %zero = constant {data = [0.0]} : f32
  %wide = pad %x, %zero {axes = [0], lengths = [1, 1]} : f32[12, 4]
  %taps = window %wide {axes = [0], lengths = [3, 1, 1]} : f32[10, 4, 3]
  %conv = einsum %taps, %v {text = "pcu,uco->po"} : f32[10, 8]
  %h = exp %conv : f32[10, 8]
  %product = einsum %h, %w {text = "pc,co->po"} : f32[10, 6]
  %pairs = window %product {axes = [0], lengths = [2, 2, 1]} : f32[5, 6, 2]
  %sums = reduce %pairs {kind = sum, axes = [2]} : f32[5, 6]
  output "y" %sums
})",
                               "pool");
  const double as_written = multiplications(g);
  const auto judge = [&](bool tells_kernels) {
    return Judge{.estimate = [=](const Graph& x) -> std::optional<SearchEstimate> {
                   const double rest = multiplications(x) < as_written ? 1e-3 : 2e-3, all = 10e-3 + rest;
                   return SearchEstimate{all, all, all, tells_kernels ? std::vector<double>{10e-3, rest} : std::vector<double>()};
                 },
                 .difference = difference};
  };
  CHECK(!search_graph(g, {}, {}, judge(false)).graph);
  const SearchResult r = search_graph(g, {}, {}, judge(true));
  REQUIRE(r.graph);
  CHECK(multiplications(*r.graph) < as_written);
  const std::string text = graph::print(*r.graph);
  CHECK_MESSAGE(text.find("{text = \"pcu,uco->po\"} : f32[10, 8]") != std::string::npos, text);
  CHECK_MESSAGE(text.find("reshape") == std::string::npos, text);
}

TEST_CASE("search: of graphs that cost the same the one with fewer nodes is proposed, with any number of processors") {
  // The pool of a concatenation costs as much as the concatenation of pools.
  const Graph g = graph::parse(R"(graph {
  %a = input : f32[14, 14, 8]
  %b = input : f32[14, 14, 16]
  %c = input : f32[14, 14, 8]
  %w = input {is_parameter} : f32[32, 12]
  %0 = exp %a : f32[14, 14, 8]
  %1 = exp %b : f32[14, 14, 16]
  %2 = exp %c : f32[14, 14, 8]
  %block = concat %0, %1, %2 {axes = [2]} : f32[14, 14, 32]
  %product = einsum %block, %w {text = "xyc,co->xyo"} : f32[14, 14, 12]
  %4 = window %product {axes = [0], lengths = [2, 2, 1]} : f32[7, 14, 12, 2]
  %5 = window %4 {axes = [1], lengths = [2, 2, 1]} : f32[7, 7, 12, 2, 2]
  %6 = reduce %5 {kind = sum, axes = [3, 4]} : f32[7, 7, 12]
  output "block" %block
  output "out" %6
})",
                               "pooled");
  for (const int processors : {1, 2, 3, 4, 5, 8, 64}) {
    CAPTURE(processors);
    ir::TargetDesc target;
    target.processors = processors;
    const SearchResult r = search_graph(g, {}, target, kByMultiplications);
    REQUIRE(r.graph);
    REQUIRE(r.rewritings.size() == 1);
    CHECK(r.rewritings[0].after == "sum(window(sum(window(block)))) w");
    CHECK(multiplications(*r.graph) == multiplications(g) / 4);
  }
}

// Twenty layers x + tanh(x (a b)), each with an a and b of its own.
Graph equal_layers() {
  std::string text = "graph {\n  %x0 = input : f32[4, 512]\n";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("  %a{0} = input : f32[512, 2]\n  %b{0} = input : f32[2, 512]\n", i);
    text += fmt::format("  %p{0} = einsum %a{0}, %b{0} {{text = \"ij,jk->ik\"}} : f32[512, 512]\n", i);
    text += fmt::format("  %t{0} = einsum %x{0}, %p{0} {{text = \"ij,jk->ik\"}} : f32[4, 512]\n  %f{0} = tanh %t{0} : f32[4, 512]\n", i);
    text += fmt::format("  %x{1} = add %x{0}, %f{0} : f32[4, 512]\n", i, i + 1);
  }
  return graph::parse(text + "  output \"o\" %x20\n}", "layers");
}

TEST_CASE("search_graph: equal layers are searched once, and all are rewritten") {
  const Graph g = equal_layers();
  const SearchResult r = search_graph(g, {}, {}, kByMultiplications);
  REQUIRE(r.graph);
  CHECK(r.regions == 1);
  CHECK(r.candidates < 12);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].before == "x0 (a0 b0)");
  CHECK(r.rewritings[0].after == "(x0 a0) b0");
  CHECK(r.rewritings[0].covers.size() == 40);
  CHECK(multiplications(*r.graph) == 20 * 2 * 4.0 * 512 * 2);
  CHECK(r.seconds_before > 100 * r.seconds_after);
}

TEST_CASE("search_graph: what runs the fastest is chosen, whatever estimates say") {
  const Graph g = graph::parse(kAttention, "attention");
  const double as_written = multiplications(g);
  std::vector<std::size_t> measured;
  std::size_t fastest = 1;
  // By the estimate no graph gains.
  Judge judge = judge_by([=](const Graph& x) { return multiplications(x) < as_written ? 10e-3 : 10.1e-3; });
  CHECK(!search_graph(g, {}, {}, judge).graph);
  judge.measure = [&](std::span<const Graph> graphs) -> std::optional<Measurement> {
    measured.push_back(graphs.size());
    CHECK(multiplications(graphs[0]) == as_written);
    for (const Graph& x : graphs.subspan(1)) CHECK(multiplications(x) != as_written);
    return Measurement{fastest, 3, fastest == 0 ? 3.0 : 2.0};
  };
  SearchResult r = search_graph(g, {}, {}, judge);
  REQUIRE(r.graph);
  CHECK(r.is_measured);
  CHECK(r.seconds_before == 3);
  CHECK(r.seconds_after == 2);
  CHECK(multiplications(*r.graph) < as_written);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].saved_seconds == doctest::Approx(1));

  fastest = 0;
  r = search_graph(g, {}, {}, judge);
  CHECK(!r.graph);
  CHECK(r.is_measured);
  CHECK(r.seconds_after == r.seconds_before);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0] == "order  (q k) v  ->  q (k v): it was measured, and is no faster");
  CHECK(measured.size() == 2);

  // The one as written is among the candidates.
  CHECK(!search_graph(g, {.candidates = 1}, {}, judge).is_measured);
  CHECK(measured.size() == 2);
  search_graph(g, {.candidates = 2}, {}, judge);
  REQUIRE(measured.size() == 3);
  CHECK(measured[2] == 2);

  // Where graphs cannot be run, estimates decide.
  judge.measure = [](std::span<const Graph>) { return std::optional<Measurement>(); };
  CHECK(!search_graph(g, {}, {}, judge).graph);
  CHECK(search_graph(g, {.gain = 1}, {}, judge).graph);
  CHECK(!search_graph(g, {.gain = 1}, {}, judge).is_measured);
  // A graph that differs is not run.
  judge.difference = [](const Graph&, auto) { return std::optional<std::string>("1 is 2"); };
  judge.measure = [](std::span<const Graph>) -> std::optional<Measurement> { return Measurement{1, 3, 2}; };
  r = search_graph(g, {}, {}, judge);
  CHECK(!r.graph);
  CHECK(!r.is_measured);
  REQUIRE(r.not_done.size() == 1);
  CHECK(r.not_done[0].find("1 is 2") != std::string::npos);
}

TEST_CASE("search_graph: a graph that loses for other symbols by its estimate is not measured, and a report says so") {
  const Graph g = graph::parse(kAttention, "attention");
  const double as_written = multiplications(g);
  int runs = 0;
  const Judge judge{.estimate = [=](const Graph& x) -> std::optional<SearchEstimate> {
                      const bool is_other = multiplications(x) < as_written;
                      return SearchEstimate{is_other ? 1e-3 : 2e-3, 0, is_other ? 7e-6 : 0};
                    },
                    .difference = difference,
                    .measure = [&](std::span<const Graph>) -> std::optional<Measurement> { return ++runs, Measurement{1, 3, 2}; }};
  SearchResult r = search_graph(g, {}, {}, judge);
  CHECK(!r.graph);
  CHECK(runs == 0);
  REQUIRE(r.not_done.size() == 1);
  CHECK(
      r.not_done[0] ==
      "order  (q k) v  ->  q (k v): where symbols have great values, it takes 7 us instead of 0 us, and is not measured; at typical values "
      "1e+03 us instead of 2e+03 us");
  r = search_graph(g, {.launch_seconds = 4e-6}, {}, judge);
  CHECK(r.graph);
  CHECK(runs == 1);
}

// The formula before and after the search.
std::pair<std::string, std::string> names_of(const std::string& nodes) {
  const Graph g = graph::parse("graph {\n" + nodes + "}", "names");
  const SearchResult r = search_graph(g, {}, {}, kByMultiplications);
  REQUIRE(r.rewritings.size() == 1);
  return {r.rewritings[0].before, r.rewritings[0].after};
}

TEST_CASE("search_graph: formulas have their numbers, and operands in the order in which they are written") {
  const auto scaled = [](const std::string& scaling) {
    return names_of(
        "%q = input : f32[512, 16]\n%k = input : f32[512, 16]\n%v = input : f32[512, 16]\n%c = constant {data = [8]} : f32\n"
        "%s = einsum %q, %k {text = \"id,jd->ij\"} : f32[512, 512]\n%t = " +
        scaling + " : f32[512, 512]\n%0 = einsum %t, %v {text = \"ij,je->ie\"} : f32[512, 16]\noutput \"o\" %0\n");
  };
  CHECK(scaled("div %s, %c").first == "(q k / 8) v");
  CHECK(scaled("mul %s, %c").first == "((q k) 8) v");
  CHECK(scaled("mul %c, %s").first == "(8 (q k)) v");
  // A number that is computed has its formula, and not the name of a function.
  const auto [before, after] = names_of(
      "%a = input : f32[512, 512]\n%b = input : f32[512, 512]\n%x = input : f32[512, 1]\n%c = constant {data = [64]} : f32\n"
      "%r = sqrt %c : f32\n%p = einsum %a, %b {text = \"ij,jk->ik\"} : f32[512, 512]\n%d = div %p, %r : f32[512, 512]\n"
      "%0 = einsum %d, %x {text = \"ij,jk->ik\"} : f32[512, 1]\noutput \"o\" %0\n");
  CHECK(before == "(a b / sqrt(64)) x");
  CHECK_MESSAGE(after.find("sqrt(64)") != after.npos, after);
  // A sum, and a product element by element, in both orders.
  for (const bool is_exchanged : {false, true}) {
    const std::string pair = is_exchanged ? "%b, %a" : "%a, %b";
    const std::string sum = names_of(
                                "%a = input : f32[64, 64]\n%b = input : f32[64, 64]\n%x = input : f32[512, 64]\n"
                                "%p = einsum %x, %a {text = \"ij,jk->ik\"} : f32[512, 64]\n"
                                "%r = einsum %x, %b {text = \"ij,jk->ik\"} : f32[512, 64]\n%0 = add " +
                                std::string(is_exchanged ? "%r, %p" : "%p, %r") + " : f32[512, 64]\noutput \"o\" %0\n")
                                .first;
    CHECK(sum == (is_exchanged ? "x b + x a" : "x a + x b"));
    const std::string product = names_of(
                                    "%a = input : f32[512, 16]\n%b = input : f32[512, 16]\n%k = input : f32[512, 16]\n"
                                    "%v = input : f32[512, 16]\n%m = mul " +
                                    pair +
                                    " : f32[512, 16]\n%s = einsum %m, %k {text = \"id,jd->ij\"} : f32[512, 512]\n"
                                    "%0 = einsum %s, %v {text = \"ij,je->ie\"} : f32[512, 16]\noutput \"o\" %0\n")
                                    .first;
    CHECK_MESSAGE(product.find("(m k) v") != product.npos, product);
  }
}

TEST_CASE("search_graph: of a graph in parts, each different one is measured once, and then all of it") {
  const Graph g = equal_layers();
  std::vector<std::size_t> sizes;
  std::size_t whole = 1;
  Judge judge = kByMultiplications;
  judge.measure = [&](std::span<const Graph> graphs) -> std::optional<Measurement> {
    sizes.push_back(graphs[0].size());
    const bool is_whole = graphs[0].size() == g.size();
    return Measurement{is_whole ? whole : 1, is_whole ? 50.0 : 3.0, is_whole && whole == 1 ? 40.0 : 2.0};
  };
  SearchResult r = search_graph(g, {}, {}, judge);
  REQUIRE(r.graph);
  CHECK(r.is_measured);
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0] < 10);
  CHECK(sizes[1] == g.size());
  CHECK(r.seconds_before == 50);
  CHECK(r.seconds_after == 40);
  whole = 0;
  r = search_graph(g, {}, {}, judge);
  CHECK(!r.graph);
  CHECK(r.rewritings.empty());
  CHECK(r.seconds_after == r.seconds_before);
  CHECK(r.not_done.back() == "all of it: the whole graph takes no less time than as written");
}

TEST_CASE("search_graph: graphs of which fusion makes the same kernels are not estimated") {
  // A variance under a softmax, whose sum is a product to the search.
  const Graph g = graph::parse(R"(graph {
  symbol n
  %s = input : f32[n, 64]
  %v = input : f32[64]
  %max = reduce %s {kind = max, axes = [1], keep_dims} : f32[n, 1]
  %shifted = sub %s, %max : f32[n, 64]
  %e = exp %shifted : f32[n, 64]
  %sum = reduce %e {kind = sum, axes = [1], keep_dims} : f32[n, 1]
  %weights = div %e, %sum : f32[n, 64]
  %weighted = mul %weights, %v : f32[n, 64]
  %mean = reduce %weighted {kind = sum, axes = [1], keep_dims} : f32[n, 1]
  output "mean" %mean
})",
                               "weighted");
  for (const Graph& graph : {g, graph::parse(kAttention, "attention")}) {
    const ir::TargetDesc target;
    fusion::GraphEstimator estimator({}, target);
    int estimated = 0;
    Judge judge = judge_by_fusion();
    judge.estimate = [&, estimate = judge.estimate](const Graph& x) { return ++estimated, estimate(x); };
    search_graph(graph, {}, {}, judge);
    const int without = estimated;
    estimated = 0;
    judge.formulas = [&](const Graph& x) { return estimator.formulas(x); };
    const SearchResult r = search_graph(graph, {}, {}, judge);
    CHECK(without > 0);
    // The graph as written is estimated, too, if there is another one.
    CHECK(static_cast<int>(r.candidates) + (estimated > 0 ? 1 : 0) == estimated);
    // The other order of the products of attention is another graph to fusion.
    CHECK((estimated > 0) == (graph.size() == 5));
    CHECK(r.graph.has_value() == (graph.size() == 5));
  }
}

TEST_CASE("search_graph: sums of products stay exact, unless a product that is multiplied in another way is among them") {
  const auto rewritten = [](const std::string& text) {
    const auto seconds = [](const Graph& x) { return graph::print(x).find("reduce") == std::string::npos ? 1.0 : 2.0; };
    const SearchResult r = search_graph(graph::parse("graph {\n" + text + "}", "precision"), {}, {}, judge_by(seconds));
    REQUIRE(r.graph);
    return graph::print(*r.graph);
  };
  const std::string sum = R"(  %a = input : f32[64, 512, 1]
  %b = input : f32[1, 512, 64]
  %0 = mul %a, %b : f32[64, 512, 64]
  %1 = reduce %0 {kind = sum, axes = [1]} : f32[64, 64]
)";
  const std::string exact = rewritten(sum + "  output \"o\" %1\n");
  CHECK_MESSAGE(exact.find("precision = ieee") != std::string::npos, exact);
  const std::string mixed = rewritten(sum + R"(  %c = input : f32[64, 2]
  %2 = einsum %1, %c {text = "ij,jk->ik"} : f32[64, 2]
  output "o" %2
)");
  CHECK_MESSAGE(mixed.find("[64, 512, 64]") == std::string::npos, mixed);
  CHECK_MESSAGE(mixed.find("precision") == std::string::npos, mixed);
}

TEST_CASE("search_graph: a region that grows with each round and becomes no cheaper is left at a multiple of its terms") {
  // Steps of conjugate gradients.
  std::string text =
      "graph {\n  %A = input : f32[32, 32]\n  %r0 = input : f32[32]\n  %p0 = input : f32[32]\n  %s0 = einsum %r0, %r0 {text = \"i,i->\"} : "
      "f32\n";
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        "  %ap{0} = einsum %A, %p{0} {{text = \"ij,j->i\"}} : f32[32]\n  %d{0} = einsum %p{0}, %ap{0} {{text = \"i,i->\"}} : f32\n", i);
    text += fmt::format(
        "  %alpha{0} = div %s{0}, %d{0} : f32\n  %t{0} = mul %alpha{0}, %ap{0} : f32[32]\n  %r{1} = sub %r{0}, %t{0} : f32[32]\n", i,
        i + 1);
    text += fmt::format("  %s{1} = einsum %r{1}, %r{1} {{text = \"i,i->\"}} : f32\n  %beta{0} = div %s{1}, %s{0} : f32\n", i, i + 1);
    text += fmt::format("  %u{0} = mul %beta{0}, %p{0} : f32[32]\n  %p{1} = add %r{1}, %u{0} : f32[32]\n", i, i + 1);
  }
  const SearchResult r = search_graph(graph::parse(text + "  output \"p\" %p3\n}", "conjugate gradients"), {}, {}, judge_by_fusion());
  CHECK(!r.is_complete);
  CHECK(r.nodes < 500);
}

TEST_CASE("search_graph: limits are counts, and are said") {
  const Graph g = graph::parse(kAttention, "attention");
  const SearchResult r = search_graph(g, {.nodes = 1}, {}, kByMultiplications);
  CHECK(!r.is_complete);
  CHECK(search_graph(g, {.candidates = 1}, {}, kByMultiplications).candidates == 1);
}

TEST_CASE("search_graph: 200 products of one operand, and powers of sums that do not saturate, end at their limits") {
  for (const bool is_parameter : {false, true}) {
    Graph g;
    graph::GraphBuilder b(g, "test", {});
    const NodeId x = b.input("x", ir::Element::f32, {64, 64});
    for (int i = 0; i < 200; ++i)
      b.output(fmt::format("o{}", i),
               b.einsum("ij,jk->ik", {x, b.input(fmt::format("w{}", i), ir::Element::f32, {64, 64}, {}, is_parameter)}, ir::Element::f32));
    const SearchResult r = search_graph(g, {}, {}, kByMultiplications);
    CHECK(r.nodes < 1000);
    CHECK(r.candidates < 10 * (r.regions + 1));
  }
  Graph g;
  graph::GraphBuilder b(g, "test", {});
  const NodeId a = b.input("a", ir::Element::f32, {64, 64}), c = b.input("c", ir::Element::f32, {64, 64});
  NodeId x = a;
  for (int i = 0; i < 8; ++i) {
    const NodeId product = b.einsum("ij,jk->ik", {b.map(ir::OpKind::add_, {x, a}), b.map(ir::OpKind::add_, {c, x})}, ir::Element::f32);
    x = b.map(ir::OpKind::add_, {product, b.einsum("ij,jk->ik", {x, a}, ir::Element::f32)});
  }
  b.output("o", x);
  const SearchResult r = search_graph(g, {.nodes = 2000}, {}, kByMultiplications);
  CHECK(!r.is_complete);
  CHECK(r.nodes < 8000);
}

/// The least multiplications for a chain of matrices, d[i] x d[i + 1].
double best_order(const std::vector<int>& d) {
  const std::size_t n = d.size() - 1;
  std::vector<std::vector<double>> least(n, std::vector<double>(n));
  for (std::size_t length = 2; length <= n; ++length)
    for (std::size_t i = 0; i + length <= n; ++i) {
      double best = HUGE_VAL;
      for (std::size_t k = i; k + 1 < i + length; ++k)
        best = std::min(best, least[i][k] + least[k + 1][i + length - 1] + double(d[i]) * d[k + 1] * d[i + length]);
      least[i][i + length - 1] = best;
    }
  return least[0][n - 1];
}

TEST_CASE("search_graph: chains of 3 to 8 matrices in random orders have the best order of dynamic programming") {
  std::mt19937 random(5);
  const int extents[] = {4, 10, 40, 100, 300, 1000, 3000};
  int rewritten = 0, matter = 0;
  for (int chain = 0; chain < 40; ++chain) {
    CAPTURE(chain);
    Graph g;
    graph::GraphBuilder b(g, "test", {});
    const std::size_t n = 3 + static_cast<std::size_t>(chain % 6);
    std::vector<int> d;
    for (std::size_t i = 0; i <= n; ++i) d.push_back(extents[random() % std::size(extents)]);
    std::vector<NodeId> open;
    for (std::size_t i = 0; i < n; ++i) open.push_back(b.input(fmt::format("m{}", i), ir::Element::f32, {d[i], d[i + 1]}));
    while (open.size() > 1) {
      const std::size_t at = random() % (open.size() - 1);
      open[at] = b.einsum("ij,jk->ik", {open[at], open[at + 1]}, ir::Element::f32);
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    b.output("o", open[0]);
    const double best = best_order(d);
    const SearchResult r = search_graph(g, {.gain = 1}, {}, kByMultiplications);
    const Graph& chosen = r.graph ? *r.graph : g;
    if (multiplications(g) > 8 * best && best > 1e6) {
      ++matter;
      CHECK(multiplications(chosen) <= 1.25 * best);
    }
    rewritten += r.graph ? 1 : 0;
    CHECK(r.is_complete);
  }
  CHECK(rewritten > 15);
  CHECK(matter > 8);
}

TEST_CASE("search_graph: a chain of 60 products is searched in parts") {
  Graph g;
  graph::GraphBuilder b(g, "test", {});
  constexpr int kExtents[] = {300, 400, 5};
  NodeId p = b.input("m0", ir::Element::f32, {300, 400});
  for (int i = 1; i < 60; ++i)
    p = b.einsum("ij,jk->ik", {p, b.input(fmt::format("m{}", i), ir::Element::f32, {kExtents[i % 3], kExtents[(i + 1) % 3]})},
                 ir::Element::f32);
  b.output("o", p);
  const SearchResult r = search_graph(g, {}, {}, kByMultiplications);
  REQUIRE(r.graph);
  CHECK(r.regions > 1);
  CHECK(multiplications(*r.graph) < 0.5 * multiplications(g));
}

// TILEWRIGHT_RANDOM_GRAPHS: how many, beside the default.
TEST_CASE("search_graph: random graphs, rewritten without any gain, compute the same in the interpreter") {
  const char* const wanted = std::getenv("TILEWRIGHT_RANDOM_GRAPHS");
  const std::uint64_t count = wanted ? std::stoull(wanted) : 250;
  std::uint64_t rewritten = 0, refused = 0;
  const Judge judge = judge_by([](const Graph&) { return 1.0; });
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    const SearchResult r =
        search_graph(g, {.nodes = 400, .candidates = 2, .gain = 0, .expand_differences = seed % 2 == 0, .neutral_moves = true}, {}, judge);
    refused += std::ranges::any_of(r.not_done, [](const std::string& why) { return why.find("at a small instance") != std::string::npos; });
    if (!r.graph) continue;
    ++rewritten;
    for (const Rewriting& w : r.rewritings) {
      CHECK(!w.rule.empty());
      CHECK(!w.before.empty());
      CHECK(!w.after.empty());
      CHECK(!w.covers.empty());
    }
    const graph::Arguments arguments = fusion::test::random_arguments(g, {}, seed);
    const auto want = graph::interpret(g, arguments, graph::Rounding::double_precision);
    const auto got = graph::interpret(*r.graph, arguments, graph::Rounding::double_precision);
    for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name)), name);
  }
  CHECK(rewritten > 40 * count / 250);
  CHECK(refused < 20 * count / 250);
}

}  // namespace
}  // namespace tilewright::passes::search
