// Backtracking: it finds the best of what its rules reach, and is what extraction from an e-graph is compared with.
#include "passes/search/backtrack/backtrack.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <random>

#include "passes/search/choose/search_graph.h"
#include "passes/search/extract/extract.h"
#include "passes/search/extract/merge_products.h"
#include "passes/search/graph/graph_to_terms.h"
#include "passes/search/graph/terms_to_graph.h"
#include "passes/search/plain_terms.h"
#include "passes/search/saturate/saturate.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/search/agree.h"
#include "tileir/graph/graph_builder.h"
#include "tileir/graph/interpreter.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::search {
namespace {

using graph::Graph;
using graph::GraphBuilder;
using graph::NodeId;
constexpr ir::Element f32 = ir::Element::f32;
constexpr double kAnyCost = 1e9;

BacktrackedGraph search(const Graph& g, const BacktrackLimits& limits) { return backtrack(g, graph_to_terms(g), {}, limits); }
Graph graph_of(const Graph& written, const BacktrackedGraph& b) { return terms_to_graph(written, b.terms, {PlainTerms(b.terms.terms)}); }
double seconds_as_written(const Graph& g) { return search(g, {.graphs = 0}).seconds_written; }

/// The cheapest graph that an e-graph holds.
struct Extracted {
  double seconds = 0;
  bool is_exact = false;
};
Extracted extracted(const Graph& g, const SearchLimits& limits) {
  GraphTerms all = graph_to_terms(g);
  SaturatedGraph saturated(g, all, limits);
  saturated.add(merged_products(g, all, saturated.classes(), {g, all, {}}));
  const Extraction e = extract(g, all, saturated.classes(), {}, {.neutral = true});
  return {e.best.empty() ? e.seconds_written : std::min(e.best[0].seconds, e.seconds_written), saturated.is_complete() && e.is_optimal};
}

using Order = std::function<NodeId(GraphBuilder&, const std::vector<NodeId>&)>;

/// All orders of the products of a chain from `first` to `last`.
std::vector<Order> orders(std::size_t first, std::size_t last) {
  if (first == last) return {[=](GraphBuilder&, const std::vector<NodeId>& x) { return x[first]; }};
  std::vector<Order> all;
  for (std::size_t middle = first; middle < last; ++middle)
    for (const Order& a : orders(first, middle))
      for (const Order& b : orders(middle + 1, last))
        all.push_back(
            [=](GraphBuilder& build, const std::vector<NodeId>& x) { return build.einsum("ij,jk->ik", {a(build, x), b(build, x)}, f32); });
  return all;
}

TEST_CASE("backtrack: chains of matrices have the cheapest of all orders") {
  std::mt19937 random(7);
  constexpr int kExtents[] = {4, 30, 100, 400, 2000};
  int improved = 0;
  for (int chain = 0; chain < 30; ++chain) {
    CAPTURE(chain);
    const std::size_t count = 3 + static_cast<std::size_t>(chain % 3);
    std::vector<int> extents;
    for (std::size_t i = 0; i <= count; ++i) extents.push_back(kExtents[random() % std::size(kExtents)]);
    double best = HUGE_VAL, first = 0;
    std::vector<Graph> graphs;
    for (const Order& order : orders(0, count - 1)) {
      Graph& g = graphs.emplace_back();
      GraphBuilder build(g, "test", {});
      std::vector<NodeId> x;
      for (std::size_t i = 0; i < count; ++i) x.push_back(build.input(fmt::format("m{}", i), f32, {extents[i], extents[i + 1]}));
      build.output("o", order(build, x));
      const double cost = seconds_as_written(g);
      if (graphs.size() == 1) first = cost;
      best = std::min(best, cost);
    }
    const BacktrackedGraph b = search(graphs[0], {.alpha = kAnyCost, .graphs = 1000});
    CHECK(b.is_complete);
    CHECK(b.made >= graphs.size());
    CHECK(b.seconds_written == doctest::Approx(first));
    CHECK(b.seconds == doctest::Approx(best));
    CHECK(seconds_as_written(graph_of(graphs[0], b)) == doctest::Approx(best));
    improved += best < first ? 1 : 0;
  }
  CHECK(improved > 10);
}

/// Whether the outputs of both graphs are equal in the interpreter.
void check_interpreted(const Graph& written, const Graph& rewritten, std::uint64_t seed) {
  const graph::Arguments arguments = fusion::test::random_arguments(written, {}, seed);
  const auto want = graph::interpret(written, arguments, graph::Rounding::double_precision);
  const auto got = graph::interpret(rewritten, arguments, graph::Rounding::double_precision);
  for (const auto& [name, value] : want) CHECK_MESSAGE(agree(value, got.at(name)), name);
}

TEST_CASE("backtrack: random graphs cost no more than as written, no less than extracted, and compute the same; each time the same") {
  int cheaper = 0, compared = 0, complete = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Graph g;
    fusion::test::random_graph_of_each_kind(g, seed);
    const SearchLimits rules{.nodes = 1000, .rounds = 10, .expand_differences = seed % 2 == 0};
    const BacktrackLimits limits{.alpha = seed % 3 == 0 ? kAnyCost : 1.05, .graphs = 60, .rules = rules};
    const BacktrackedGraph b = search(g, limits);
    CHECK(b.seconds <= b.seconds_written);
    cheaper += b.seconds < b.seconds_written ? 1 : 0;
    complete += b.is_complete ? 1 : 0;
    const Extracted e = extracted(g, rules);
    if (e.is_exact) {
      ++compared;
      CHECK(e.seconds <= b.seconds * 1.002);
    }
    const Graph rewritten = graph_of(g, b);
    CHECK(graph::print(rewritten) == graph::print(graph_of(g, search(g, limits))));
    check_interpreted(g, rewritten, seed);
    if (b.path.empty()) continue;
    // An e-graph at its limit holds the best graph once the rules on the way to it are applied.
    GraphTerms all = graph_to_terms(g);
    SaturatedGraph limited(g, all, {.nodes = 1});
    limited.add(b.terms, b.path);
    const Extraction best = extract(g, all, limited.classes(), {}, {.neutral = true});
    REQUIRE(!best.best.empty());
    CHECK(best.best[0].seconds <= b.seconds * 1.002);
    check_interpreted(g, terms_to_graph(g, all, {limited.classes(), best.best[0].members}), seed);
  }
  CHECK(cheaper > 12);
  CHECK(compared > 100);
  CHECK(complete > 100);
}

// ---- models ----

struct Model {
  const char* name;
  std::function<void(GraphBuilder&)> build;
  bool is_less;  // the e-graph holds a graph that alpha = 1.05 does not reach
};

class Layers {
 public:
  explicit Layers(GraphBuilder& b) : b_(b) {}
  NodeId input(graph::TensorShape shape) { return b_.input(fmt::format("x{}", count_++), f32, std::move(shape)); }
  NodeId parameter(graph::TensorShape shape) { return b_.input(fmt::format("w{}", count_++), f32, std::move(shape), {}, true); }
  NodeId product(NodeId a, NodeId b) { return b_.einsum("ij,jk->ik", {a, b}, f32); }
  NodeId map(ir::OpKind op, std::vector<NodeId> x) { return b_.map(op, std::move(x)); }
  NodeId sum(NodeId a, NodeId b) { return map(ir::OpKind::add_, {a, b}); }
  NodeId relu(NodeId x) { return map(ir::OpKind::maximum_, {x, b_.number(f32, 0)}); }
  NodeId tanh(NodeId x) { return map(ir::OpKind::tanh_, {x}); }
  GraphBuilder& builder() { return b_; }

 private:
  GraphBuilder& b_;
  int count_ = 0;
};

/// The cell of NasRNN: 16 products of one row, eight sums of two.
NodeId nas_rnn(Layers& l, NodeId h, NodeId x, int n) {
  std::vector<NodeId> t;
  for (int i = 0; i < 8; ++i) t.push_back(l.sum(l.product(x, l.parameter({n, n})), l.product(h, l.parameter({n, n}))));
  const NodeId a = l.sum(l.relu(t[0]), l.tanh(t[3])), b = l.sum(l.tanh(t[1]), l.tanh(t[2]));
  const NodeId c = l.map(ir::OpKind::mul_, {l.tanh(t[4]), l.tanh(t[5])}), d = l.map(ir::OpKind::mul_, {l.tanh(t[6]), l.relu(t[7])});
  const NodeId e = l.sum(l.tanh(b), l.tanh(c)), f = l.map(ir::OpKind::mul_, {l.tanh(a), l.tanh(d)});
  return l.tanh(l.map(ir::OpKind::mul_, {l.tanh(e), l.tanh(f)}));
}

/// Tensat's BERT: linear layers, scores and values of 16 heads, no softmax.
void bert(GraphBuilder& b, int layers) {
  Layers l(b);
  NodeId x = l.relu(l.input({64, 1024}));
  for (int i = 0; i < layers; ++i) {
    const auto heads = [&] { return b.einsum("sc,chd->shd", {x, l.parameter({1024, 16, 64})}, f32); };
    const NodeId q = heads(), k = heads(), v = heads(), scores = b.einsum("qhd,khd->hqk", {q, k}, f32);
    b.output(fmt::format("o{}", i), b.einsum("hqk,khd->qhd", {scores, v}, f32));
    x = l.product(x, l.parameter({1024, 1024}));
  }
  b.output("o", x);
}

const Model kModels[] = {
    {"(q k') v, 4096 rows of 64",
     [](GraphBuilder& b) {
       Layers l(b);
       const NodeId q = l.relu(l.input({4096, 64})), k = l.relu(l.input({4096, 64}));
       b.output("o", l.product(b.einsum("qd,kd->qk", {q, k}, f32), l.input({4096, 64})));
     },
     false},
    {"x W + (x A) B, parameters",
     [](GraphBuilder& b) {
       Layers l(b);
       const NodeId x = l.input({64, 1024});
       const NodeId low = l.product(l.product(x, l.parameter({1024, 16})), l.parameter({16, 1024}));
       b.output("o", l.sum(l.product(x, l.parameter({1024, 1024})), low));
     },
     true},
    {"x (W + A B), inputs",
     [](GraphBuilder& b) {
       Layers l(b);
       const NodeId x = l.input({64, 1024}), low = l.product(l.input({1024, 16}), l.input({16, 1024}));
       b.output("o", l.product(x, l.sum(l.parameter({1024, 1024}), low)));
     },
     true},
    {"average pool of a product",
     [](GraphBuilder& b) {
       Layers l(b);
       const NodeId y = b.einsum("hwc,co->hwo", {l.relu(l.input({28, 28, 256})), l.parameter({256, 128})}, f32);
       const NodeId sums = b.reduce(graph::Combine::sum, b.window(b.window(y, 0, 2, 2, 1), 1, 2, 2, 1), {{3, 4}}, false);
       b.output("o", l.map(ir::OpKind::mul_, {sums, b.number(f32, 0.25)}));
     },
     false},
    {"NasRNN, one cell",
     [](GraphBuilder& b) {
       Layers l(b);
       b.output("o", nas_rnn(l, l.relu(l.input({1, 512})), l.input({1, 512}), 512));
     },
     false},
    {"BERT without softmax, 2 layers", [](GraphBuilder& b) { bert(b, 2); }, false},
    {"BERT without softmax, 8 layers", [](GraphBuilder& b) { bert(b, 8); }, true},
};

TEST_CASE("backtrack: for models the e-graph is never dearer, and cheaper where all steps to the best graph are") {
  for (const Model& m : kModels) {
    CAPTURE(m.name);
    Graph g;
    GraphBuilder b(g, "test", {}, graph::kMaxRank);
    m.build(b);
    const BacktrackedGraph strict = search(g, {.alpha = 1.05}), relaxed = search(g, {.alpha = 1.5});
    const Extracted e = extracted(g, {});
    CHECK(e.seconds <= strict.seconds * 1.002);
    CHECK(e.seconds <= relaxed.seconds * 1.002);
    CHECK(relaxed.seconds <= relaxed.seconds_written);
    MESSAGE(m.name << ": " << strict.seconds_written * 1e6 << " us as written, " << e.seconds * 1e6 << " extracted, "
                   << strict.seconds * 1e6 << " and " << relaxed.seconds * 1e6 << " by backtracking");
    CHECK((e.seconds < 0.99 * strict.seconds) == m.is_less);
  }
}

// The factors of a square may be matched in either order, so that an instance of a rule is another term for the same value.
TEST_CASE("backtrack: squares, and steps to an orthogonal matrix") {
  std::string text = "graph {\n  %x0 = input : f64[24, 40]\n";
  for (int i = 0; i < 3; ++i)
    text += fmt::format(R"(  %a{0} = einsum %x{0}, %x{0} {{text = "ik,jk->ij"}} : f64[24, 24]
  %m{0} = constant {{data = [-4.775]}} : f64
  %n{0} = constant {{data = [2.0315]}} : f64
  %o{0} = constant {{data = [3.4445]}} : f64
  %b{0} = mul %m{0}, %a{0} : f64[24, 24]
  %c{0} = einsum %a{0}, %a{0} {{text = "ik,kj->ij"}} : f64[24, 24]
  %d{0} = mul %n{0}, %c{0} : f64[24, 24]
  %e{0} = add %b{0}, %d{0} : f64[24, 24]
  %f{0} = mul %o{0}, %x{0} : f64[24, 40]
  %g{0} = einsum %e{0}, %x{0} {{text = "ik,kj->ij"}} : f64[24, 40]
  %x{1} = add %f{0}, %g{0} : f64[24, 40]
)",
                        i, i + 1);
  const Graph g = graph::parse(text + "  output \"y\" %x3\n}", "steps");
  const BacktrackedGraph found = search(g, {});
  CHECK(found.seconds <= found.seconds_written);
  check_interpreted(g, graph_of(g, found), 1);
}

TEST_CASE("backtrack: limits are counts, and are said") {
  Graph g;
  GraphBuilder b(g, "test", {}, graph::kMaxRank);
  bert(b, 2);
  CHECK(search(g, {}).is_complete);
  CHECK(search(g, {.graphs = 5}).changed == 5);
  CHECK(!search(g, {.graphs = 5}).is_complete);
  CHECK(!search(g, {.steps = 200}).is_complete);
  CHECK(search(g, {.steps = 200}).made < 10);
}

TEST_CASE("backtrack: a region whose e-graph does not end has what backtracking finds") {
  const Graph g = graph::parse(R"(graph {
  %q = input : f32[2048, 64]
  %k = input : f32[2048, 64]
  %v = input : f32[2048, 64]
  %0 = exp %q : f32[2048, 64]
  %1 = einsum %0, %k {text = "id,jd->ij"} : f32[2048, 2048]
  %2 = einsum %1, %v {text = "ij,je->ie"} : f32[2048, 64]
  %3 = exp %2 : f32[2048, 64]
  output "o" %3
})",
                               "attention");
  const Judge judge{.estimate = [](const Graph& x) -> std::optional<SearchEstimate> {
                      const double s = seconds_as_written(x);
                      return SearchEstimate{s, s, s};
                    },
                    .difference = [](const Graph&, std::span<const EqualValues>) -> std::optional<std::string> { return std::nullopt; }};
  const SearchResult r = search_graph(g, {.nodes = 1}, {}, judge);
  CHECK(!r.is_complete);
  REQUIRE(r.graph);
  REQUIRE(r.rewritings.size() == 1);
  CHECK(r.rewritings[0].rule == "order");
  CHECK(r.rewritings[0].after == "exp (k v)");
  CHECK(seconds_as_written(*r.graph) < 0.1 * seconds_as_written(g));
}

}  // namespace
}  // namespace tilewright::passes::search
