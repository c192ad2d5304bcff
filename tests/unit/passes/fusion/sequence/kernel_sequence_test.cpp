// Whole programs: graphs divided into kernels, with symbols, fused and node by node.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>

#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/formulas.h"
#include "tileir/graph/text/graph_text.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr double kTolerance = 4e-6;

void check_values(const graph::Graph& g, const KernelSequence& p, const std::map<std::string, std::int64_t>& symbols,
                  double most = kTolerance) {
  const graph::Arguments arguments = random_arguments(g, symbols, 11);
  for (const auto& [name, error] : errors_of(g, p, arguments)) {
    CAPTURE(name);
    CHECK(error < most);
  }
}

TEST_CASE("fusion program: one kernel each where one pass exists") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.kernels.size() == 1);
    CHECK(p.proof.exact);
    // Short rows of scores are kept on chip: then no pass is refused.
    if (w.name != "exp_of_scaled") CHECK(p.not_fused.empty() == !w.is_refused);
    check_values(g, p, {});
  }
}

TEST_CASE("fusion program: node by node gives the same values") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    FusionOptions options;
    options.fuse = false;
    const KernelSequence p = build_sequence(g, options, {});
    CHECK(p.kernels.size() > 1);
    check_values(g, p, {});
  }
}

// Whether the check found no difference but compared nothing: all elements are rounding errors, such as a sum of differences from their mean.
bool compares_nothing(const SequenceProof& proof) {
  return proof.text.find("rounding leaves all of them open") != std::string::npos &&
         proof.text.find("the kernels were not compared with the graph as written") != std::string::npos &&
         proof.text.find("was rounded") == std::string::npos;
}

// TILEWRIGHT_RANDOM_GRAPHS: how many, beside the default. TILEWRIGHT_RANDOM_GRAPH: the seed of one, which runs alone.
void check_random_graphs(const std::function<void(graph::Graph&, std::uint64_t)>& make, int usual) {
  const char* wanted = std::getenv("TILEWRIGHT_RANDOM_GRAPHS");
  const char* only = std::getenv("TILEWRIGHT_RANDOM_GRAPH");
  const int first = only ? std::atoi(only) : 0, last = only ? first + 1 : wanted ? std::atoi(wanted) : usual;
  constexpr double kRandomTolerance = 1e-3;  // differences of values that are nearly equal lose bits
  int open_plans = 0;
  for (int seed = first; seed < last; ++seed) {
    CAPTURE(seed);
    graph::Graph g;
    make(g, static_cast<std::uint64_t>(seed));
    const std::string text = graph::print(g);
    CAPTURE(text);
    FusionOptions as_written, unfused;
    as_written.reassociate = false;
    unfused.fuse = false;
    std::vector<FusionOptions> all(1);
    if (seed % 3 != 0) all.push_back(seed % 3 == 1 ? as_written : unfused);
    for (const FusionOptions& options : all) {
      CAPTURE(options.fuse);
      CAPTURE(options.reassociate);
      const KernelSequence p = build_sequence(g, options, {});
      std::string plans;
      for (const SequenceKernel& k : p.kernels) plans += k.plan_text + "\n";
      CAPTURE(plans);
      const bool is_open = compares_nothing(p.proof);
      open_plans += is_open;
      CHECK((p.proof.exact || is_open));
      for (const std::string& line : p.not_fused) {
        CAPTURE(line);
        CHECK(line.find("node by node") == std::string::npos);
      }
      for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 5))) {
        CAPTURE(name);
        CHECK(error < kRandomTolerance);
      }
    }
  }
  CHECK(open_plans <= std::max(1, (last - first) / 50));
}

TEST_CASE("fusion program: random graphs compute what they say") {
  check_random_graphs([](graph::Graph& g, std::uint64_t seed) { random_graph(g, seed); }, 150);
}

TEST_CASE("fusion program: random graphs with extents of 0 compute what they say") {
  check_random_graphs([](graph::Graph& g, std::uint64_t seed) { random_graph(g, seed, RandomExtents::some_zero); }, 100);
}

TEST_CASE("fusion program: random graphs of multiples compute what they say") { check_random_graphs(random_graph_of_multiples, 150); }

// As-written formulas keep terms such as the maximum of a value and itself, in a scan; and sums of elements that a mask hides completely.
TEST_CASE("fusion program: as written, plans pass their check") {
  for (const ir::Element e : {ir::Element::f32, ir::Element::f64, ir::Element::f16})
    for (const bool reverse : {false, true}) {
      CAPTURE(ir::text(e));
      CAPTURE(reverse);
      graph::Graph g;
      const Formula x = input(g, "x", {1, 12}, e), most = maximum(x, x), i = iota(g, {1, 12}, 0);
      const Formula running{&g, builder(g).scan(graph::Combine::prod, tanh(most - map(ir::OpKind::minimum_, {x, x}) + 0.5).id, 1, reverse)};
      const Formula hidden = where(greater_equal(i, like(i, 2)), x, like(x, 0));
      builder(g).output("mean", builder(g).mean(running.id, std::vector<std::int64_t>{1}, false));
      builder(g).output("running", running.id);
      builder(g).output("hidden", (tanh(hidden) * sum(hidden)).id);
      FusionOptions as_written;
      as_written.reassociate = false;
      const KernelSequence p = build_sequence(g, as_written, {});
      CHECK(p.proof.exact);
      CHECK(p.not_fused.empty());
      check_values(g, p, {}, e == ir::Element::f16 ? 2e-3 : kTolerance);
    }
}

// Constants, views and joined tensors as outputs, beside others that read them.
TEST_CASE("fusion program: no kernel reads a buffer that it writes") {
  using Build = Formula (*)(graph::Graph&, const Dim&, Formula, Formula);
  static constexpr std::pair<const char*, Build> kValues[] = {
      {"constant",
       [](graph::Graph& g, const Dim&, Formula, Formula) { return Formula{&g, builder(g).constant(ir::Element::i32, {3}, {3, 4, 5})}; }},
      {"fill", [](graph::Graph& g, const Dim& n, Formula, Formula) { return broadcast_to(number(g, 2), {n, 3}); }},
      {"input", [](graph::Graph&, const Dim&, Formula x, Formula) { return x; }},
      {"joined", [](graph::Graph&, const Dim&, Formula x, Formula y) { return concat({x, y}, 0); }},
      {"joined again", [](graph::Graph&, const Dim&, Formula x, Formula y) { return concat({concat({y, x}, 0), exp(x)}, 0); }},
      {"joined rows", [](graph::Graph& g, const Dim& n, Formula x, Formula) { return concat({x, broadcast_to(number(g, 2), {n, 1})}, 1); }},
      {"turned", [](graph::Graph&, const Dim& n, Formula x, Formula) { return concat({slice(x, 0, 1, n), slice(x, 0, 0, 1)}, 0); }},
      {"sum of joined", [](graph::Graph&, const Dim&, Formula x, Formula y) { return sum(concat({x, y}, 0), {0}, true) + y; }},
  };
  for (const auto& [name, build] : kValues)
    for (const bool fuse : {true, false})
      for (const int outputs : {1, 2, 3}) {
        CAPTURE(name);
        CAPTURE(fuse);
        CAPTURE(outputs);
        graph::Graph g;
        const Dim n = builder(g).dim("n", {});
        const Formula x = input(g, "x", {n, 3}), y = input(g, "y", {2, 3}), value = build(g, n, x, y);
        builder(g).output("value", value.id);
        if (outputs > 1) builder(g).output("again", value.id);
        if (outputs > 2) builder(g).output("sum", sum(value, {0}, false).id);
        FusionOptions options;
        options.fuse = fuse;
        const KernelSequence p = build_sequence(g, options, {});
        for (const SequenceKernel& k : p.kernels)
          for (int b : k.writes) CHECK(std::find(k.reads.begin(), k.reads.end(), b) == k.reads.end());
        check_values(g, p, {{"n", 5}});
      }
}

// The factor, which needs all of the loop and is positive, moves out of the maximum and of the sum.
TEST_CASE("fusion program: a factor in a maximum moves out of it, and the check knows why") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 7}), products = tanh(einsum("kj,ki->ji", {x, x}));
  const Formula factor = 1.0 / (abs(sum(reshape(max(x), {5}))) + 12.0);
  builder(g).output("y", sum(reshape(max(products * reshape(factor, {1, 1})), {7})).id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.kernels.size() == 1);
  CHECK(p.kernels[0].passes == 1);
  CHECK(p.proof.exact);
  check_values(g, p, {});
}

// The maxima cancel in the softmax, but its formula has them.
TEST_CASE("fusion program: a sum of maxima that a softmax does not depend on") {
  graph::Graph g;
  const Formula x = reshape(input(g, "x", {6}), {3, 2});
  const Formula shift = tanh(sum(max(x), {0}));
  const Formula s = tanh(einsum("ab,eb->ae", {x, x})) + shift, e = exp(s - max(s));
  builder(g).output("y", (e / sum(e)).id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  check_values(g, p, {});
}

// Along the axis of the running product, the difference inside has its terms in another order, and so another sign.
TEST_CASE("fusion program: the check knows that tanh and erf are odd") {
  for (const ir::OpKind op : {ir::OpKind::tanh_, ir::OpKind::erf_}) {
    graph::Graph g;
    const Formula x = input(g, "x0", {2, 3}), y = input(g, "x2", {6, 2});
    const Formula most = maximum(y, Formula{&g, builder(g).reduce(graph::Combine::max, x.id, std::vector<std::int64_t>{1}, false)});
    const Formula inside = where(greater_equal(iota(g, {6, 2}, 1), number(g, 0, ir::Element::i32)), most - exp(tanh(y)), number(g, 0));
    builder(g).output("y", builder(g).scan(graph::Combine::prod, map(op, {inside}).id, 1, false));
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    check_values(g, p, {});
  }
}

TEST_CASE("fusion program: an exponential that is summed and stored is computed once where a row is one tile") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 53}), e = exp(x - max(x));
  builder(g).output("y", (e / sum(e)).id);
  const KernelSequence p = build_sequence(g, {}, {});
  REQUIRE(p.kernels.size() == 1);
  const ir::Function& f = p.kernels[0].function;
  int exponentials = 0;
  f.walk([&](ir::OpId id) { exponentials += f.kind(id) == ir::OpKind::exp_; });
  CHECK(exponentials == 1);
  CHECK(p.proof.exact);
  check_values(g, p, {});
}

TEST_CASE("fusion program: a product after a norm is shared among programs where a row is all there is") {
  constexpr int kSize = 1024;
  graph::Graph g;
  graph::GraphBuilder b = builder(g);
  const Formula x = input(g, "x", {1, kSize}), gamma = input(g, "gamma", {kSize});
  const Formula n{&g, graph::rms_norm(b, x.id, gamma.id, 1e-6)};
  const Formula v = einsum("rk,kn->rn", {n, input(g, "wv", {kSize, kSize})});
  builder(g).output("y", (x + einsum("rk,kn->rn", {v, input(g, "wo", {kSize, kSize})})).id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  int products = 0;
  for (const SequenceKernel& k : p.kernels) {
    CAPTURE(k.plan_text);
    CHECK(k.passes == 1);
    const auto is_weight = [&](int buffer) { return p.buffers[static_cast<std::size_t>(buffer)].name.starts_with("w"); };
    if (std::none_of(k.reads.begin(), k.reads.end(), is_weight)) continue;
    ++products;
    double programs = 1;
    for (const auto& factors : k.grid)
      for (const GridFactor& f : factors) programs *= std::ceil(static_cast<double>(f.extent.value()) / static_cast<double>(f.tile));
    CHECK(programs >= 4);
  }
  CHECK(products == 2);
  check_values(g, p, {});
}

TEST_CASE("fusion program: what has the axes of a divisor is divided before a tile with more axes is") {
  graph::Graph g;
  const Formula a = input(g, "a", {32}), b = input(g, "b", {32}), w = input(g, "w", {32, 48});
  builder(g).output("y", (expand(a / (b * b + number(g, 1.0)), 1) * w).id);
  const KernelSequence p = build_sequence(g, {}, {});
  REQUIRE(p.kernels.size() == 1);
  const ir::Function& f = p.kernels[0].function;
  int divisions = 0;
  f.walk([&](ir::OpId id) {
    if (f.kind(id) != ir::OpKind::div_) return;
    ++divisions;
    CHECK(f.type(f.result(id, 0)).rank() == 1);
  });
  CHECK(divisions == 1);
  check_values(g, p, {});
}

TEST_CASE("fusion program: exponentials and their sum as two outputs are one kernel") {
  for (const ir::TargetDesc& target : {ir::TargetDesc{}, kAmpere, kHopper}) {
    CAPTURE(target.name);
    for (const int columns : {53, 3000}) {
      CAPTURE(columns);
      if (columns > 2048 && !target.is_gpu())
        continue;  // two tiles: a second kernel reads the exponentials sooner than they are computed again
      graph::Graph g;
      const Formula x = input(g, "x", {5, columns}), e = exp(x - max(x));
      builder(g).output("e", e.id);
      builder(g).output("total", sum(e).id);
      const KernelSequence p = build_sequence(g, {}, target);
      CHECK(p.kernels.size() == 1);
      CHECK(p.proof.exact);
      check_values(g, p, {});
    }
  }
}

// Layers of RMS norm, rotary causal attention with grouped heads, a gated MLP, residuals; the length is a symbol.
void transformer(graph::Graph& g, int layers) {
  constexpr int kModel = 64, kHeads = 4, kKv = 2, kDim = 16, kHidden = 96;
  const Dim seq = builder(g).dim("seq", {.max = 4096});
  graph::GraphBuilder b = builder(g);
  const auto matmul = [&](Formula x, Formula y) { return Formula{&g, builder(g).matmul(x.id, y.id, ir::Element::f32)}; };
  const auto rms = [&](Formula x, Formula gamma) { return Formula{&g, graph::rms_norm(b, x.id, gamma.id, 1e-6)}; };
  const Formula position = iota(g, {seq}, 0);
  const auto rope = [&](Formula x) { return Formula{&g, graph::rope(b, x.id, position.id, 10000)}; };
  const auto silu = [&](Formula x) { return Formula{&g, graph::silu(b, x.id)}; };
  const auto heads = [&](Formula t, int each) { return permute(reshape(t, {seq, kKv, each, kDim}), {1, 2, 0, 3}); };
  const Formula causal = greater_equal(expand(position, 1), expand(position, 0));
  Formula x = input(g, "x", {seq, kModel});
  for (int layer = 0; layer < layers; ++layer) {
    const auto weight = [&](const char* name, graph::TensorShape shape) {
      return input(g, name + (layers > 1 ? std::to_string(layer) : ""), std::move(shape));
    };
    const Formula n = rms(x, weight("gamma1", {kModel}));
    const Formula q = rope(heads(matmul(n, weight("wq", {kModel, kHeads * kDim})), kHeads / kKv));
    const Formula k = rope(heads(matmul(n, weight("wk", {kModel, kKv * kDim})), 1));
    const Formula v = heads(matmul(n, weight("wv", {kModel, kKv * kDim})), 1);
    const Formula scores = where(causal, matmul(q, permute(k, {0, 1, 3, 2})) / 4.0, number(g, -HUGE_VAL));
    const Formula e = exp(scores - max(scores));
    const Formula attended = reshape(permute(matmul(e / sum(e), v), {2, 0, 1, 3}), {seq, kHeads * kDim});
    const Formula h = x + matmul(attended, weight("wo", {kHeads * kDim, kModel}));
    const Formula m = rms(h, weight("gamma2", {kModel}));
    const Formula gate = silu(matmul(m, weight("wg", {kModel, kHidden})));
    x = h + matmul(gate * matmul(m, weight("wu", {kModel, kHidden})), weight("wd", {kHidden, kModel}));
  }
  builder(g).output("y", x.id);
}

TEST_CASE("fusion program: a transformer block is at most six kernels, for every length") {
  graph::Graph g;
  transformer(g, 1);
  const KernelSequence p = build_sequence(g, {}, {});
  std::string plans;
  for (const SequenceKernel& k : p.kernels) plans += k.plan_text + "\n";
  CAPTURE(plans);
  CHECK(p.kernels.size() <= 6);
  CHECK(p.proof.exact);
  for (const std::int64_t seq : {1, 33, 70}) {
    CAPTURE(seq);
    check_values(g, p, {{"seq", seq}});
  }
}

TEST_CASE("fusion program: equal layers of a model are derived once") {
  constexpr int kLayers = 4;
  graph::Graph g;
  transformer(g, kLayers);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.kernels.size() <= 6 * kLayers);
  CHECK(p.proof.exact);
  const std::size_t each = p.kernels.size() / kLayers;
  for (std::size_t i = 0; i < p.kernels.size(); ++i) {
    CAPTURE(i);
    CHECK(p.kernels[i].like == (i < each ? -1 : static_cast<int>(i % each)));
  }
  std::set<std::string> names;
  for (const SequenceKernel& k : p.kernels) names.insert(k.name);
  CHECK(names.size() == p.kernels.size());
  check_values(g, p, {{"seq", 5}}, 4 * kTolerance);
}

// Each value of the chain is used twice: a walk that visits uses instead of values would not end.
TEST_CASE("fusion program: a long chain of norms and products without residuals") {
  constexpr int kLayers = 24, kSize = 512;
  graph::Graph g;
  graph::GraphBuilder b = builder(g);
  Formula x = input(g, "x", {256, kSize});
  for (int i = 0; i < kLayers; ++i) {
    const Formula gamma = input(g, "gamma" + std::to_string(i), {kSize}), w = input(g, "w" + std::to_string(i), {kSize, kSize});
    const Formula n = {&g, graph::rms_norm(b, x.id, gamma.id, 1e-6)};
    x = {&g, graph::silu(b, einsum("rk,kn->rn", {n, w}).id)};
  }
  builder(g).output("y", x.id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  CHECK(p.kernels.size() <= 2 * kLayers);
}

TEST_CASE("fusion program: layers that differ are derived each") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16});
  const auto layer = [&](Formula t, const char* w, double scale) { return t + einsum("rk,kn->rn", {t, input(g, w, {16, 16})}) * scale; };
  const Formula y = layer(layer(layer(einsum("rk,kn->rn", {x, input(g, "w0", {16, 16})}), "w1", 0.5), "w2", 0.25), "w3", 0.5);
  builder(g).output("y", y.id);
  const KernelSequence p = build_sequence(g, {}, {});
  std::vector<int> like;
  for (const SequenceKernel& k : p.kernels) like.push_back(k.like);
  CHECK(like == std::vector<int>{-1, -1, -1, 1});
  check_values(g, p, {});
}

TEST_CASE("fusion program: values that later segments need are stored once") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16}), w = input(g, "w", {16, 16});
  const auto matmul = [&](Formula a, Formula b) { return einsum("rk,kn->rn", {a, b}); };
  const Formula cache = matmul(x, input(g, "u", {16, 16}));  // an output, needed again in the last segment
  const Formula h = matmul(x, w) + cache;
  const Formula y = h + matmul(h, w);
  const Formula z = y + matmul(y, w);
  builder(g).output("cache", cache.id);
  builder(g).output("y", y.id);
  builder(g).output("z", (z * cache).id);
  const KernelSequence p = build_sequence(g, {}, {});
  std::string plans;
  for (const SequenceKernel& k : p.kernels) plans += k.plan_text + "\n";
  CAPTURE(plans);
  CHECK(p.kernels.size() <= 4);
  check_values(g, p, {});
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
