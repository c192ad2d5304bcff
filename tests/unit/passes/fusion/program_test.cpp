// Whole programs: graphs divided into kernels, with symbols, fused and node by node.
#include <doctest/doctest.h>

#include <cstdlib>

#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/graph/formulas.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr double kTolerance = 4e-6;

void check_values(const graph::Graph& g, const Program& p, const std::map<std::string, std::int64_t>& symbols) {
  const graph::Arguments arguments = random_arguments(g, symbols, 11);
  for (const auto& [name, error] : errors_of(g, p, arguments)) {
    CAPTURE(name);
    CHECK(error < kTolerance);
  }
}

TEST_CASE("fusion program: one kernel each where one pass exists") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    const Program p = build_program(g, {}, {});
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
    ProgramOptions options;
    options.fuse = false;
    const Program p = build_program(g, options, {});
    CHECK(p.kernels.size() > 1);
    check_values(g, p, {});
  }
}

// TILEWRIGHT_RANDOM_GRAPHS: how many, beside the default.
TEST_CASE("fusion program: random graphs compute what they say") {
  const char* wanted = std::getenv("TILEWRIGHT_RANDOM_GRAPHS");
  const int count = wanted ? std::atoi(wanted) : 150;
  constexpr double kRandomTolerance = 1e-3;  // differences of values that are nearly equal lose bits
  for (int seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    graph::Graph g;
    random_graph(g, static_cast<std::uint64_t>(seed));
    const Program p = build_program(g, {}, {});
    CHECK(p.proof.exact);
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 5))) {
      CAPTURE(name);
      CHECK(error < kRandomTolerance);
    }
  }
}

// RMS norm, rotary causal attention with grouped heads, a gated MLP, residuals; the length is a symbol.
void transformer_block(graph::Graph& g) {
  constexpr int kModel = 64, kHeads = 4, kKv = 2, kDim = 16, kHidden = 96;
  const Dim seq = builder(g).dim("seq", {.max = 4096});
  const Formula x = input(g, "x", {seq, kModel});
  const auto weight = [&](const char* name, graph::TensorShape shape) { return input(g, name, std::move(shape)); };
  const Formula gamma1 = weight("gamma1", {kModel}), gamma2 = weight("gamma2", {kModel}), wq = weight("wq", {kModel, kHeads * kDim}),
                wo = weight("wo", {kHeads * kDim, kModel}), wk = weight("wk", {kModel, kKv * kDim}),
                wv = weight("wv", {kModel, kKv * kDim}), wg = weight("wg", {kModel, kHidden}), wu = weight("wu", {kModel, kHidden}),
                wd = weight("wd", {kHidden, kModel});
  const auto matmul = [&](Formula a, Formula b) { return Formula{&g, builder(g).matmul(a.id, b.id, ir::Element::f32)}; };
  graph::GraphBuilder b = builder(g);
  const auto rms = [&](Formula a, Formula gamma) { return Formula{&g, graph::rms_norm(b, a.id, gamma.id, 1e-6)}; };
  const Formula position = iota(g, {seq}, 0);
  const auto rope = [&](Formula a) { return Formula{&g, graph::rope(b, a.id, position.id, 10000)}; };
  const auto silu = [&](Formula a) { return Formula{&g, graph::silu(b, a.id)}; };
  const auto heads = [&](Formula t, int each) { return permute(reshape(t, {seq, kKv, each, kDim}), {1, 2, 0, 3}); };
  const Formula n = rms(x, gamma1);
  const Formula q = rope(heads(matmul(n, wq), kHeads / kKv)), k = rope(heads(matmul(n, wk), 1)), v = heads(matmul(n, wv), 1);
  const Formula scores = matmul(q, permute(k, {0, 1, 3, 2})) / 4.0;
  const Formula causal = greater_equal(expand(position, 1), expand(position, 0));
  const Formula masked = where(causal, scores, number(g, -HUGE_VAL));
  const Formula e = exp(masked - max(masked));
  const Formula attended = matmul(e / sum(e), v);
  const Formula h = x + matmul(reshape(permute(attended, {2, 0, 1, 3}), {seq, kHeads * kDim}), wo);
  const Formula m = rms(h, gamma2);
  builder(g).output("y", (h + matmul(silu(matmul(m, wg)) * matmul(m, wu), wd)).id);
}

TEST_CASE("fusion program: a transformer block is at most six kernels, for every length") {
  graph::Graph g;
  transformer_block(g);
  const Program p = build_program(g, {}, {});
  std::string plans;
  for (const ProgramKernel& k : p.kernels) plans += k.plan_text + "\n";
  CAPTURE(plans);
  CHECK(p.kernels.size() <= 6);
  CHECK(p.proof.exact);
  for (const std::int64_t seq : {1, 33, 70}) {
    CAPTURE(seq);
    check_values(g, p, {{"seq", seq}});
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
