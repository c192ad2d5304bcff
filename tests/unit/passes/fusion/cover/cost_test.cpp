// Estimates of kernels count what programs do.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "passes/fusion/cover/cost.h"
#include "passes/fusion/cover/cover.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/thresholds.h"
#include "passes/fusion/transcendental.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tileir/graph/formulas.h"

namespace tilewright::passes::fusion::test {
namespace {

Derived derived(const std::string& name, const Sizes& sizes) {
  const auto w = std::find_if(workloads().begin(), workloads().end(), [&](const Workload& x) { return x.name == name; });
  REQUIRE(w != workloads().end());
  Variants plain;
  plain.at = sizes;
  return derive(*w, plain);
}

KernelCost estimated(const LoopPlan& plan, ExprBuilder& b, const ir::TargetDesc& target = {}) {
  return estimate(plan, choose_tiling(b, plan, target, {}), b, target);
}

TEST_CASE("fusion cost: attention reads its operands once, and counts products and exponentials") {
  constexpr double kHeads = 8, kLength = 1024, kDim = 64;
  Derived d = derived("attention", {.batch = 1, .heads = 8, .queries = 1024, .keys = 1024, .head = 64, .value_head = 64});
  const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, {});
  REQUIRE(kernels.size() == 1);
  const KernelCost c = estimated(kernels[0].plan, *d.exprs);
  CHECK(c.read_bytes == 3 * 4 * kHeads * kLength * kDim);
  CHECK(c.written_bytes == 4 * kHeads * kLength * kDim);
  CHECK(c.reread_bytes == 2 * 4 * kHeads * kLength * kDim * (kLength / 64 - 1));  // keys and values, by each tile of 64 rows
  CHECK(c.matrix_flops == 4 * kHeads * kLength * kLength * kDim);
  CHECK(c.exponentials >= kHeads * kLength * kLength);
  CHECK(c.exponentials <= 1.1 * kHeads * kLength * kLength);
  CHECK(c.programs == kHeads * kLength / 64);
  CHECK(c.fits);
}

TEST_CASE("fusion cost: a wide second product of a chain is a kernel of its own, a narrow one is not") {
  for (const int columns : {64, 8192}) {
    CAPTURE(columns);
    Derived d;
    graph::Graph& g = *d.graph;
    const Formula x = input(g, "x", {4096, 64}), w = input(g, "w", {64, 2048}), u = input(g, "u", {2048, columns});
    const Formula h = tanh(einsum("rk,kf->rf", {x, w}));
    builder(g).output("y", einsum("rf,fn->rn", {h, u}).id);
    translate_outputs(d);
    CHECK(cover(*d.exprs, d.outputs, {}).size() == (columns == 64 ? 1 : 2));
  }
}

TEST_CASE("fusion cost: operations count as many exponentials as they take the time of") {
  const auto exponentials = [](ir::OpKind op, ir::Element element) {
    Derived d;
    graph::Graph& g = *d.graph;
    const Formula x = input(g, "x", {64, 1024}, element);
    builder(g).output("y", map(op, {x}).id);
    translate_outputs(d);
    return estimated(cover(*d.exprs, d.outputs, {})[0].plan, *d.exprs).exponentials / (64 * 1024);
  };
  CHECK(exponentials(ir::OpKind::tanh_, ir::Element::f32) == 1);
  CHECK(exponentials(ir::OpKind::erf_, ir::Element::f32) == 2);
  CHECK(exponentials(ir::OpKind::sin_, ir::Element::f32) == 4);
  CHECK(exponentials(ir::OpKind::atan_, ir::Element::f64) == 2 * kExponentialsOfDouble);
  CHECK(exponentials(ir::OpKind::neg_, ir::Element::f32) == 0);
}

// The number of kernels of f(x) w, where x has 300 rows.
std::size_t kernels_of_computed_operand(const std::function<Formula(Formula)>& f, std::int64_t columns, ir::Element element,
                                        const ir::TargetDesc& target) {
  Derived d;
  graph::Graph& g = *d.graph;
  const Formula x = input(g, "x", {300, 512}, element), w = input(g, "w", {512, columns}, element);
  builder(g).output("y", einsum("rk,kn->rn", {f(x), w}).id);
  translate_outputs(d);
  return cover(*d.exprs, d.outputs, target).size();
}

Formula power(Formula x, double exponent) { return map(ir::OpKind::pow_, {x, like(x, exponent)}); }

TEST_CASE("fusion cost: a power that is not a product counts as a call of pow, also as a factor of a product") {
  const auto exponentials = [](const std::function<Formula(Formula)>& f) {
    Derived d;
    graph::Graph& g = *d.graph;
    const Formula x = input(g, "x", {64, 512}), w = input(g, "w", {512, 64});
    builder(g).output("y", einsum("rk,kn->rn", {f(x), w}).id);
    translate_outputs(d);
    return estimated(cover(*d.exprs, d.outputs, kAmpere)[0].plan, *d.exprs, kAmpere).exponentials / (64 * 512);
  };
  const auto of_power = [&](double exponent) { return exponentials([=](Formula x) { return power(x, exponent); }); };
  CHECK(of_power(2.5) == exponentials_of(ir::OpKind::pow_));
  CHECK(of_power(-2.5) == exponentials_of(ir::OpKind::pow_));
  CHECK(of_power(7) == exponentials_of(ir::OpKind::pow_));
  for (const double exponent : {2.0, -1.0}) CHECK(of_power(exponent) == 0);
  // A root of what is not negative; pow(-inf, 0.5) is infinite and no root.
  const auto of_magnitude = [&](double exponent) {
    return exponentials([=](Formula x) { return power(map(ir::OpKind::abs_, {x}), exponent); });
  };
  for (const double exponent : {0.5, -0.5}) CHECK(of_magnitude(exponent) == 0);
  // This is a power too, without a call.
  CHECK(exponentials([](Formula x) { return rsqrt(x) / x; }) == 0);
}

TEST_CASE("fusion cover: a computed operand is stored where its computations again take longer") {
  ir::TargetDesc host;
  host.processors = 2;
  const auto cubic = [](Formula x) { return power(x, 2.5); };
  const auto exponential = [](Formula x) { return exp(x); };
  const auto absolute = [](Formula x) { return abs(x); };
  using ir::Element;
  for (const Element e : {Element::f32, Element::f64}) {
    CAPTURE(e);
    CHECK(kernels_of_computed_operand(cubic, 512, e, host) == 2);
    CHECK(kernels_of_computed_operand(exponential, 512, e, host) == 2);
    // One tile of columns computes nothing again.
    CHECK(kernels_of_computed_operand(cubic, 64, e, host) == 1);
    CHECK(kernels_of_computed_operand(exponential, 64, e, host) == 1);
  }
  // A host reads only a stored operand in place, however little it takes to compute it; narrow ones are converted in any case.
  CHECK(kernels_of_computed_operand(absolute, 4096, Element::f32, host) == 2);
  CHECK(kernels_of_computed_operand(absolute, 128, Element::f32, host) == 1);
  CHECK(kernels_of_computed_operand(absolute, 4096, Element::bf16, host) == 1);
  // A GPU's program puts what it computes into shared memory like what it reads.
  CHECK(kernels_of_computed_operand(absolute, 4096, Element::f32, kAmpere) == 1);
  CHECK(kernels_of_computed_operand(cubic, 64, Element::f32, kAmpere) == 1);
}

TEST_CASE("fusion cover: an operand is stored with the norm that scales it") {
  Derived d;
  graph::Graph& g = *d.graph;
  const Formula x = input(g, "x", {4096, 1024}), w = input(g, "w", {1024, 4096}), u = input(g, "u", {1024, 4096}),
                v = input(g, "v", {4096, 1024});
  const Formula n = x * rsqrt(sum(square(x)) / 1024.0 + 1e-6);
  const Formula gate = einsum("rk,kf->rf", {n, w}), up = einsum("rk,kf->rf", {n, u});
  builder(g).output("y", (x + einsum("rf,fn->rn", {gate / (1.0 + exp(-gate)) * up, v})).id);
  translate_outputs(d);
  const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, {});
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].plan.reductions.size() == 3);
  CHECK(kernels[1].plan.reductions.size() == 1);
}

// A row, its norm, a gate of two products, and a product of that: what a decoding step computes behind its attention.
void gated_row(Derived& d) {
  graph::Graph& g = *d.graph;
  const Formula x = input(g, "x", {1, 256}), w = input(g, "w", {256, 640}), u = input(g, "u", {256, 640}), v = input(g, "v", {640, 256});
  const Formula n = x * rsqrt(sum(square(x)) / 256.0 + 1e-6);
  const Formula gate = einsum("rk,kf->rf", {n, w}), up = einsum("rk,kf->rf", {n, u});
  builder(g).output("y", (x + einsum("rf,fn->rn", {gate / (1.0 + exp(-gate)) * up, v})).id);
  translate_outputs(d);
}

TEST_CASE("fusion cover: products of one row are kernels of several programs, each product computed once") {
  for (const int processors : {2, 8}) {
    CAPTURE(processors);
    Derived d;
    gated_row(d);
    ir::TargetDesc host;
    host.processors = processors;
    const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, host);
    for (const CoveredKernel& k : kernels) {
      const KernelCost c = estimated(k.plan, *d.exprs, host);
      CHECK(c.programs * c.parts >= std::min(processors, 4));
      CHECK(c.reread_bytes < c.read_bytes);
      CHECK(k.plan.passes == 1);
    }
  }
}

constexpr int kModel = 1024, kKv = 4, kEach = 4, kDim = 64;

/// A norm, rotary causal attention with grouped heads, and a residual.
void rotary_attention(graph::Graph& g, int rows) {
  graph::GraphBuilder b = builder(g);
  const Formula x = input(g, "x", {rows, kModel}), position = iota(g, {rows}, 0);
  const Formula n = x * rsqrt(sum(square(x)) / static_cast<double>(kModel) + 1e-6);
  const auto heads = [&](const char* weight, int each) {
    const Formula t = einsum("rk,kf->rf", {n, input(g, weight, {kModel, kKv * each * kDim})});
    return permute(reshape(t, {rows, kKv, each, kDim}), {1, 2, 0, 3});
  };
  const auto rope = [&](Formula t) { return Formula{&g, graph::rope(b, t.id, position.id, 10000)}; };
  const Formula q = rope(heads("wq", kEach)), k = rope(heads("wk", 1)), v = heads("wv", 1);
  const Formula causal = greater_equal(expand(position, 1), expand(position, 0));
  const Formula scores = where(causal, einsum("ghqd,gokd->ghqk", {q, k}) / 8.0, number(g, -HUGE_VAL));
  const Formula e = exp(scores - max(scores));
  const Formula attended = einsum("ghqk,gokd->ghqd", {e / sum(e), v});
  const Formula flat = reshape(permute(attended, {2, 0, 1, 3}), {rows, kModel});
  builder(g).output("y", (x + einsum("rk,kn->rn", {flat, input(g, "wo", {kModel, kModel})})).id);
}

// The inputs of attention: both halves of each rotated head need the same two products.
TEST_CASE("fusion cover: values with products in common are stored by one kernel, and no product is computed twice") {
  constexpr int kRows = 128;
  for (const int processors : {2, 8}) {
    CAPTURE(processors);
    Derived d;
    rotary_attention(*d.graph, kRows);
    translate_outputs(d);
    ir::TargetDesc host;
    host.processors = processors;
    const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, host);
    std::string plans;
    for (const CoveredKernel& c : kernels) plans += c.plan.text() + "\n" + c.estimate + "\n";
    CAPTURE(plans);
    // Keys and values, queries, scores, the softmax times values, the last product; the maxima of scores may be a kernel of their own.
    CHECK(kernels.size() <= 6);
    double flops = 0;
    for (const CoveredKernel& c : kernels) flops += estimated(c.plan, *d.exprs, host).matrix_flops;
    const double projections = 2.0 * kRows * kModel * (2 * kModel + 2 * kKv * kDim);
    CHECK(flops == projections + 4.0 * kKv * kEach * kRows * kRows * kDim);
  }
}

// Each step makes an expression. Most of them were stored values under names of axes that no output has, and values that two strategies store.
TEST_CASE("fusion cover: attention with rotated keys takes few steps") {
  Derived d;
  rotary_attention(*d.graph, 16);
  translate_outputs(d);
  const std::uint64_t before = d.exprs->pool().steps().taken();
  cover(*d.exprs, d.outputs, kHopper);
  CHECK(d.exprs->pool().steps().taken() - before < 40'000);
}

TEST_CASE("fusion cost: few programs leave processors idle, neighbours of less than a line move it again") {
  Derived d;
  gated_row(d);
  ir::TargetDesc two;
  two.processors = 2;
  const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, two);
  const auto seconds = [&](int processors) {
    ir::TargetDesc host;
    host.processors = processors;
    return estimated(kernels[0].plan, *d.exprs, host).seconds;
  };
  CHECK(seconds(1) > seconds(2));
  CHECK(seconds(64) == doctest::Approx(seconds(32)));
  // Loops over the gate's axis read few neighbours of each row of w and u.
  const LoopPlan whole = best_plan(*d.exprs, d.outputs);
  CHECK(estimated(whole, *d.exprs).reread_bytes > 4 * 256 * 640);
}

// The rows of a max pool are whole rows of an image: the line behind one of them is the next one, and windows read it again from caches.
TEST_CASE("fusion cost: nothing is wasted where runs are whole rows, and a host pools inside of the product's loop") {
  const auto pooled = [](Formula x) {
    graph::GraphBuilder b = builder(*x.graph);
    for (const std::int64_t axis : {0, 1}) x = pad(x, axis, 1, 1, -HUGE_VAL);
    for (const std::int64_t axis : {0, 1}) x.id = b.window(x.id, axis, 3, 1, 1);
    return reduce(graph::Combine::max, x, {3, 4}, false);
  };
  for (const int side : {14, 56})
    for (const int channels : {8, 16, 32})
      for (const int processors : {1, 2, 3, 4, 8}) {
        CAPTURE(side);
        CAPTURE(channels);
        CAPTURE(processors);
        Derived d;
        graph::Graph& g = *d.graph;
        const Formula x = input(g, "x", {side, side, channels}), w = input(g, "w", {channels, 16});
        const Formula y = einsum("ijk,kn->ijn", {pooled(x), w});
        builder(g).output("y", maximum(y, like(y, 0)).id);
        translate_outputs(d);
        ir::TargetDesc host;
        host.processors = processors;
        const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, host);
        REQUIRE(kernels.size() == 1);
        CHECK(estimated(kernels[0].plan, *d.exprs, host).wasted_bytes == 0);
      }
}

TEST_CASE("fusion cover: the mean of an output reads it") {
  Derived d;
  graph::Graph& g = *d.graph;
  const Formula x = input(g, "x", {90, 64}), w = input(g, "w", {1000, 64}), s = einsum("rk,vk->rv", {x, w});
  const Formula e = exp(s - max(s)), lse = log(sum(e)) + max(s);
  builder(g).output("lse", lse.id);
  builder(g).output("mean", (sum(reshape(lse, {90})) / 90.0).id);
  translate_outputs(d);
  for (const int processors : {1, 2, 8, 64}) {
    CAPTURE(processors);
    ir::TargetDesc host;
    host.processors = processors;
    CHECK(cover(*d.exprs, d.outputs, host).size() == 2);
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
