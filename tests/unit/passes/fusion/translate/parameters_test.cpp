// Values that depend only on parameters: which of them are computed before a run, and that programs with them give the same results.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "passes/fusion/translate/parameters.h"
#include "tests/unit/passes/fusion/random_graph.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/builder.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion::test {
namespace {

using ir::Element;

Formula parameter(graph::Graph& g, const std::string& name, graph::TensorShape shape, Element e = Element::f32) {
  return {&g, builder(g).input(name, e, std::move(shape), {}, true)};
}
Formula matmul(Formula x, Formula y) { return {x.graph, builder(*x.graph).matmul(x.id, y.id, x.graph->node(x.id).element)}; }
void output(const std::string& name, Formula f) { builder(*f.graph).output(name, f.id); }
Formula rms(Formula x) { return x * rsqrt(sum(square(x)) / static_cast<double>(x.shape().back().value()) + 1e-6); }

/// The buffers that stay from run to run, by name.
std::vector<const SequenceBuffer*> derived(const KernelSequence& p) {
  std::vector<const SequenceBuffer*> all;
  for (const SequenceBuffer& b : p.buffers)
    if (b.kind == BufferKind::derived) all.push_back(&b);
  return all;
}
std::vector<std::string> names_read(const KernelSequence& p) {
  std::vector<std::string> names;
  for (const SequenceKernel& k : p.kernels)
    for (int b : k.reads) names.push_back(p.buffers[static_cast<std::size_t>(b)].name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}
KernelSequence check(const graph::Graph& g, const std::map<std::string, std::int64_t>& symbols = {}, const FusionOptions& options = {},
                     double tolerance = 4e-6) {
  const KernelSequence p = build_sequence(g, options, {});
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, symbols, 7))) {
    CAPTURE(name);
    CHECK(error < tolerance);
  }
  return p;
}
using Names = std::vector<std::string>;

/// The graph with the inputs of these numbers as parameters.
graph::Graph with_parameters(const graph::Graph& g, std::uint64_t chosen) {
  std::string text = graph::print(g);
  std::size_t at = 0;
  for (int i = 0; (at = text.find(" = input :", at)) != std::string::npos; ++i, ++at)
    if ((chosen >> i & 1) != 0) text.insert(at + 8, " {is_parameter}");
  return graph::parse(text, "random");
}

}  // namespace

// TILEWRIGHT_RANDOM_GRAPHS: how many, beside the default.
TEST_CASE("fusion parameters: random graphs compute what they say whichever inputs are parameters") {
  const char* wanted = std::getenv("TILEWRIGHT_RANDOM_GRAPHS");
  const int count = wanted ? std::atoi(wanted) : 150;
  constexpr double kRandomTolerance = 1e-3;  // differences of values that are nearly equal lose bits
  int kernels = 0;
  for (int seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    graph::Graph inputs;
    random_graph(inputs, static_cast<std::uint64_t>(seed));
    const graph::Graph g = with_parameters(inputs, static_cast<std::uint64_t>(seed) % 31 + 1);
    FusionOptions options;
    options.fuse = seed % 4 != 0;
    const KernelSequence p = build_sequence(g, options, {});
    CHECK(p.proof.exact);
    kernels += static_cast<int>(p.parameter_kernels.size());
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 5))) {
      CAPTURE(name);
      CHECK(error < kRandomTolerance);
    }
  }
  CHECK(kernels > count / 20);
}

// A copy of the weight would save a multiplication in each column of x, and 64 bytes of 512.
TEST_CASE("fusion parameters: a gain stays beside the weight of a product") {
  for (const Element e : {Element::f32, Element::bf16, Element::f16, Element::f64}) {
    CAPTURE(ir::text(e));
    graph::Graph g;
    const Formula x = input(g, "x", {5, 16}, e), gamma = parameter(g, "gamma", {16}, e), w = parameter(g, "w", {16, 7}, e);
    output("y", matmul(cast(rms(cast(x, Element::f32)), e) * gamma, w));
    const KernelSequence p = check(g, {}, {}, ir::bits(e) == 16 ? 1e-2 : 4e-6);
    REQUIRE(p.kernels.size() == 1);
    CHECK(names_read(p) == Names{"gamma", "w", "x"});
    CHECK(p.parameter_kernels.empty());
    CHECK(derived(p).empty());
  }
}

TEST_CASE("fusion parameters: a weight and a correction of it are one tensor") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 16}), w = parameter(g, "w", {16, 7}), delta = parameter(g, "delta", {16, 7});
  output("y", matmul(rms(x), w + delta * 0.5));
  const KernelSequence p = check(g);
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].passes == 1);
  REQUIRE(p.parameter_kernels.size() == 1);
  CHECK(p.parameter_kernels[0].reads.size() == 2);
  REQUIRE(derived(p).size() == 1);
  CHECK(names_read(p) == Names{derived(p)[0]->name, "x"});
  // The layout is the weight's.
  CHECK(derived(p)[0]->shape == graph::TensorShape{16, 7});
  CHECK(derived(p)[0]->element == Element::f32);
  // The run's kernel covers the norm and the product, the other one the sum.
  CHECK(p.kernels[0].covers.size() >= 3);
}

// Bytes of what stays from run to run.
double kept_bytes(const KernelSequence& p) {
  double bytes = 0;
  for (const SequenceBuffer* b : derived(p)) {
    double elements = 1;
    for (const Dim& d : b->shape) elements *= static_cast<double>(d.value());
    bytes += elements * ir::bytes(b->element);
  }
  return bytes;
}

TEST_CASE("fusion parameters: what is kept takes at most twice the memory of the parameters") {
  SUBCASE("one weight under many gains") {
    constexpr int kGains = 6;
    graph::Graph g;
    const Formula x = input(g, "x", {5, 16}), w = parameter(g, "w", {16, 24});
    for (int i = 0; i < kGains; ++i) {
      const std::string number = std::to_string(i);
      output("y" + number, matmul(x * parameter(g, "gamma" + number, {16}), w));
    }
    CHECK(kept_bytes(check(g)) == 0);
  }
  SUBCASE("a product of narrow matrices") {
    graph::Graph g;
    const Formula x = input(g, "x", {5, 96}), a = parameter(g, "a", {96, 4}), b = parameter(g, "b", {4, 96});
    output("y", matmul(x, matmul(a, b)));
    CHECK(kept_bytes(check(g)) <= 2 * 4 * (2 * 96 * 4));
  }
}

TEST_CASE("fusion parameters: projections of one norm share a loop, and no program folds what another one folds") {
  graph::Graph g;
  const Formula n = rms(input(g, "x", {40, 64})) * parameter(g, "gamma", {64});
  output("q", matmul(n, parameter(g, "wq", {64, 256}) + parameter(g, "delta_q", {64, 256})));
  output("k", matmul(n, parameter(g, "wk", {64, 128}) + parameter(g, "delta_k", {64, 128})));
  output("v", matmul(n, parameter(g, "wv", {64, 128}) + parameter(g, "delta_v", {64, 128})));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 1);
  CHECK(derived(p).size() == 3);
  for (const SequenceKernel& k : p.parameter_kernels) {
    CAPTURE(k.plan_text);
    double written = 0, space = 1;
    for (int b : k.writes) {
      double elements = 1;
      for (const Dim& d : p.buffers[static_cast<std::size_t>(b)].shape) elements *= static_cast<double>(d.value());
      written += elements;
    }
    for (const auto& axis : k.grid)
      for (const GridFactor& f : axis) space *= static_cast<double>(f.extent.value());
    CHECK(space <= written);
  }
}

TEST_CASE("fusion parameters: a layer norm and a product with bias keep vectors, and no matrix") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 16}), gamma = parameter(g, "gamma", {16}), beta = parameter(g, "beta", {16}),
                w = parameter(g, "w", {16, 7}), b = parameter(g, "b", {7});
  const Formula centred = x - sum(x) / 16.0;
  const Formula normed = centred * rsqrt(sum(square(centred)) / 16.0 + 1e-5) * gamma + beta;
  output("y", matmul(normed, w) + b);
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 1);
  CHECK(p.kernels[0].passes == 1);
  REQUIRE(!derived(p).empty());
  for (const SequenceBuffer* t : derived(p)) CHECK(t->shape == graph::TensorShape{7});
}

TEST_CASE("fusion parameters: products of parameters are computed once, through intermediate results if need be") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 6}), a = parameter(g, "a", {6, 8}), b = parameter(g, "b", {8, 600}),
                c = parameter(g, "c", {600, 700});
  const Formula d = parameter(g, "d", {700, 4});
  output("y", matmul(x, matmul(exp(matmul(exp(matmul(a, b) * 0.1), c) * 0.01), d)));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 1);
  CHECK(p.parameter_kernels.size() >= 2);
  CHECK(derived(p).size() == 1);
  CHECK(std::any_of(p.buffers.begin(), p.buffers.end(), [](const SequenceBuffer& t) { return t.kind == BufferKind::intermediate; }));
}

TEST_CASE("fusion parameters: weights are cast ahead to the narrower type in which they are multiplied") {
  for (const Element narrow : {Element::bf16, Element::f16}) {
    graph::Graph g;
    const Formula x = input(g, "x", {5, 16}, narrow), w = parameter(g, "w", {16, 7});
    output("y", matmul(x, cast(w, narrow)));
    const KernelSequence p = check(g, {}, {}, 1e-2);
    REQUIRE(derived(p).size() == 1);
    CHECK(derived(p)[0]->element == narrow);
    CHECK(names_read(p) == Names{"w_folded", "x"});
    // Where rounding may not move, the cast is an op of its own, and known ahead as well.
    FusionOptions strict;
    strict.move_rounding = false;
    CHECK(derived(check(g, {}, strict, 1e-2)).size() == 1);
  }
}

TEST_CASE("fusion parameters: sums of parameters are one term") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 16}), a = parameter(g, "a", {16}), b = parameter(g, "b", {16});
  output("y", a * 3.0 + x + b);
  const KernelSequence p = check(g);
  CHECK(names_read(p) == Names{"a_b", "x"});
}

TEST_CASE("fusion parameters: what would move more bytes stays in the kernel") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16}), u = parameter(g, "u", {8, 1}), v = parameter(g, "v", {16}),
                q = parameter(g, "q", {16, 9}, Element::i8);
  SUBCASE("an outer product") { output("y", x * u * v); }
  SUBCASE("an outer sum") { output("y", maximum(x, u + v)); }
  SUBCASE("a view") { output("y", matmul(x, permute(parameter(g, "w", {9, 16}), {1, 0}))); }
  SUBCASE("a multiple") { output("y", matmul(x, parameter(g, "w", {16, 9}) * 0.5)); }
  SUBCASE("a weight that is widened") { output("y", matmul(x, cast(q, Element::f32) * parameter(g, "s", {16, 1}))); }
  SUBCASE("positions alone") { output("y", x * exp(cast(iota(g, {16}, 0), Element::f32) * -0.25)); }
  SUBCASE("a parameter alone") { output("y", x + v); }
  const KernelSequence p = check(g);
  CHECK(p.parameter_kernels.empty());
  CHECK(derived(p).empty());
}

TEST_CASE("fusion parameters: inputs and scalars of a run are never part of them") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 16}), w = input(g, "w", {16, 7}), gamma = parameter(g, "gamma", {16});
  const Formula scale = {&g, builder(g).scalar("scale", Element::f32)};
  output("y", matmul(x * gamma, w) + exp(parameter(g, "b", {7}) * scale));
  const KernelSequence p = check(g);
  CHECK(p.parameter_kernels.empty());
}

TEST_CASE("fusion parameters: a mask of parameters hides what the other factors are") {
  graph::Graph g;
  const Formula mask = parameter(g, "valid", {16}, Element::boolean), garbage = input(g, "x", {5, 16}), v = parameter(g, "w", {16, 7}),
                gain = parameter(g, "gain", {16});
  output("y", matmul(where(mask, garbage, number(g, 0)) * gain, v));
  const KernelSequence p = build_sequence(g, {}, {});
  graph::Arguments arguments = random_arguments(g, {}, 3);
  arguments.arrays["valid"].assign(16, 0);
  arguments.arrays["valid"][3] = 1;
  for (std::size_t i = 0; i < 5 * 16; ++i)
    if (i % 16 != 3) arguments.arrays["x"][i] = ir::element_bits(Element::f32, NAN);
  for (const auto& [name, error] : errors_of(g, p, arguments)) CHECK(error < 4e-6);
}

TEST_CASE("fusion parameters: outputs that depend on parameters alone are written at every run") {
  graph::Graph g;
  const Formula a = parameter(g, "a", {8, 8}), b = parameter(g, "b", {8, 8});
  const Formula c = matmul(a, b);
  output("product", c);
  output("copy", a);
  output("shifted", c + 1.0);
  output("y", matmul(input(g, "x", {4, 8}), c));
  const KernelSequence p = check(g);
  std::vector<std::string> written;
  for (const SequenceKernel& k : p.kernels)
    for (int t : k.writes) written.push_back(p.buffers[static_cast<std::size_t>(t)].name);
  std::sort(written.begin(), written.end());
  CHECK(written == Names{"copy", "product", "shifted", "y"});
  for (const SequenceKernel& k : p.parameter_kernels)
    for (int t : k.writes) CHECK(p.buffers[static_cast<std::size_t>(t)].kind != BufferKind::output);
}

TEST_CASE("fusion parameters: large constants are known as parameters are") {
  graph::Graph g;
  std::vector<std::uint64_t> bits;
  for (int i = 0; i < 16; ++i) bits.push_back(ir::element_bits(Element::f32, 1.0 + i));
  const Formula x = input(g, "x", {5, 16}), k = {&g, builder(g).constant(Element::f32, {4, 4}, bits)};
  output("y", matmul(x, reshape(k + parameter(g, "w", {4, 4}), {16, 1})));
  const KernelSequence p = check(g);
  CHECK(derived(p).size() == 1);
}

TEST_CASE("fusion parameters: symbols of parameters' shapes may be in what is computed ahead, others may not") {
  graph::Graph g;
  const Dim k = builder(g).dim("k", {.max = 4096}), seq = builder(g).dim("seq", {.max = 64});
  const Formula x = input(g, "x", {seq, k}), delta = parameter(g, "delta", {k, 7}), w = parameter(g, "w", {k, 7});
  const Formula table = parameter(g, "table", {64, 7}), other = parameter(g, "other", {64, 7});
  output("y", matmul(x, w + delta) + slice(table, 0, 0, seq) * slice(other, 0, 0, seq));
  for (const std::int64_t n : {1, 33}) {
    const KernelSequence p = check(g, {{"k", 20 + n}, {"seq", n}});
    REQUIRE(derived(p).size() == 1);
    Names names{derived(p)[0]->name, "other", "table", "x"};
    std::sort(names.begin(), names.end());
    CHECK(names_read(p) == names);
  }
}

TEST_CASE("fusion parameters: node by node, nodes of parameters alone are computed ahead") {
  graph::Graph g;
  const Formula x = input(g, "x", {5, 16}), gamma = parameter(g, "gamma", {16}), w = parameter(g, "w", {16, 7});
  output("y", matmul(x, exp(permute(permute(w, {1, 0}) * gamma, {1, 0}))));
  FusionOptions options;
  options.fuse = false;
  const KernelSequence p = check(g, {}, options);
  CHECK(p.parameter_kernels.size() == 2);
  CHECK(derived(p).size() == 1);  // the last of the two
}

TEST_CASE("fusion parameters: equal layers share kernels, and each has tensors of its own") {
  graph::Graph g;
  Formula x = input(g, "x", {8, 16});
  constexpr int kLayers = 4;
  for (int i = 0; i < kLayers; ++i) {
    const auto weight = [&](const char* name, graph::TensorShape shape) {
      return parameter(g, std::string(name) + "." + std::to_string(i), std::move(shape));
    };
    x = x + matmul(rms(x), weight("delta", {16, 16}) + weight("w", {16, 16}));
  }
  output("y", x);
  const KernelSequence p = check(g, {}, {}, 2e-5);
  CHECK(p.parameter_kernels.size() == kLayers);
  CHECK(derived(p).size() == kLayers);
  std::vector<std::string> names;
  for (const SequenceBuffer* b : derived(p)) names.push_back(b->name);
  CHECK(names == Names{"delta_0_w_0", "delta_1_w_1", "delta_2_w_2", "delta_3_w_3"});
  CHECK(p.parameter_kernels.back().like >= 0);
}

TEST_CASE("fusion parameters: a layer of inputs is not one of parameters") {
  graph::Graph g;
  Formula x = input(g, "x", {8, 16});
  x = x + matmul(rms(x), parameter(g, "delta0", {16, 16}) + parameter(g, "w0", {16, 16}));
  x = x + matmul(rms(x), parameter(g, "delta1", {16, 16}) + parameter(g, "w1", {16, 16}));
  x = x + matmul(rms(x), input(g, "delta2", {16, 16}) + parameter(g, "w2", {16, 16}));
  x = x + matmul(rms(x), matmul(parameter(g, "a3", {16, 16}), parameter(g, "b3", {16, 16})));
  output("y", x);
  const KernelSequence p = check(g, {}, {}, 2e-5);
  CHECK(derived(p).size() == 3);
}

TEST_CASE("fusion parameters: values that later segments read are computed ahead") {
  graph::Graph g;
  const Formula a = parameter(g, "a", {16, 16}), b = parameter(g, "b", {16, 16});
  const Formula c = matmul(a, b);
  Formula x = input(g, "x", {8, 16});
  for (int i = 0; i < 3; ++i) x = x + matmul(x, c);
  output("y", x);
  SUBCASE("alone") {}
  SUBCASE("and are outputs") { output("c", c); }
  const KernelSequence p = check(g, {}, {}, 2e-5);
  CHECK(derived(p).size() == 1);
  CHECK(p.parameter_kernels.size() == 1);
}

}  // namespace tilewright::passes::fusion::test
