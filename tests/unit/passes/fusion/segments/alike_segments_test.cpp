// Segments that differ in numbers only share kernels, which get the numbers as arguments.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "passes/fusion/thresholds.h"
#include "tests/unit/passes/fusion/formula.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Graph;
using ir::Element;
using Arguments = std::map<std::string, std::int64_t>;

Formula sine(Formula x) { return map(ir::OpKind::sin_, {x}); }

// ---- steps whose numbers differ ----

struct Program {
  const char* name;
  /// Appends steps to a graph, with rows of this extent.
  Formula (*build)(Graph& g, const Dim& rows, Element, int steps);
  int steps = 500;
  /// Kernels of their own, at most.
  std::size_t most = 4;
};

constexpr double kStep = 0.03125;

Formula euler(Graph& g, const Dim& rows, Element e, int steps) {
  Formula y = input(g, "x", {rows, 32}, e);
  for (int i = 0; i < steps; ++i) y = y + sine(y + like(y, 0.01 + i * kStep)) * kStep;
  return y;
}

Formula horner(Graph& g, const Dim& rows, Element e, int steps) {
  const Formula x = tanh(input(g, "x", {rows, 32}, e)) * 0.5;
  Formula y = x;
  for (int i = 0; i < steps; ++i) y = y * x + 1.0 / (i + 3.0);
  return y;
}

// Each step adds noise of another scale.
Formula diffusion(Graph& g, const Dim& rows, Element e, int steps) {
  Formula y = input(g, "x", {rows, 32}, e);
  const Formula noise = input(g, "noise", {rows, 32}, e);
  for (int i = 0; i < steps; ++i) y = y - tanh(y) * ((i + 512) * 0x1p-14) + noise * ((i + 3) * 0x1p-16);
  return y;
}

// A recurrent layer, of which each step reads another row of its input.
Formula recurrence(Graph& g, const Dim& rows, Element e, int steps) {
  const Formula x = input(g, "x", {steps, rows, 32}, e);
  Formula y = input(g, "y0", {rows, 32}, e);
  for (int i = 0; i < steps; ++i) {
    const Formula row = reshape(slice(x, 0, i, i + 1), {rows, 32});
    y = tanh(y * 0.5 + row) + sine(row) * 0.25;
  }
  return y;
}

// Layers whose weights are slices of one tensor.
Formula stacked_layers(Graph& g, const Dim& rows, Element e, int steps) {
  const Formula w = input(g, "w", {steps, 32, 32}, e);
  Formula x = input(g, "x", {rows, 32}, e);
  for (int i = 0; i < steps; ++i) {
    const Formula norm = x / sqrt(sum(x * x) / 32.0 + 1e-3);
    x = x + tanh(einsum("rk,kn->rn", {norm, reshape(slice(w, 0, i, i + 1), {32, 32})})) * 0.25;
  }
  return x;
}

const Program kPrograms[] = {
    {"euler", euler, 320},
    {"horner", horner},
    {"diffusion", diffusion},
    {"recurrence", recurrence, 660, 6},
    {"stacked_layers", stacked_layers, 24, 8},
};

std::size_t own_kernels(const KernelSequence& p) {
  return static_cast<std::size_t>(std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }));
}

// The numbers, or values of an extent, that are arguments of kernels.
std::size_t argument_numbers(const KernelSequence& p) {
  std::size_t all = 0;
  for (const SequenceKernel& k : p.kernels)
    for (const KernelArgument& a : k.arguments)
      if (a.kind == KernelArgument::Kind::number || (a.kind == KernelArgument::Kind::extent && a.extent.is_constant())) ++all;
  return all;
}

void check_sharing(const Program& program, Element e, bool is_symbolic, const ir::TargetDesc& target) {
  CAPTURE(std::string(program.name));
  CAPTURE(std::string(ir::text(e)));
  CAPTURE(is_symbolic);
  CAPTURE(target.is_gpu());
  Graph g;
  const Dim rows = is_symbolic ? builder(g).dim("n", {}) : Dim(16);
  builder(g).output("y", program.build(g, rows, e, program.steps).id);
  const KernelSequence p = build_sequence(g, {}, target);
  CHECK(p.proof.exact);
  CHECK(own_kernels(p) <= program.most);
  CHECK(own_kernels(p) < p.kernels.size());
  CHECK(argument_numbers(p) > 0);
  FusionOptions by_node;
  by_node.fuse = false;
  const graph::Arguments arguments = random_arguments(g, is_symbolic ? Arguments{{"n", 5}} : Arguments{}, 7);
  const double fused = errors_of(g, p, arguments).at("y"), unfused = errors_of(g, build_sequence(g, by_node, target), arguments).at("y");
  CAPTURE(unfused);
  CHECK(fused <= 4 * unfused + (e == Element::f64 ? 1e-12 : e == Element::f32 ? 1e-5 : 1e-2));
}

TEST_CASE("alike segments: steps that differ in numbers have kernels in common, and values of their own") {
  for (const Program& program : kPrograms)
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      check_sharing(program, Element::f32, false, target);
      check_sharing(program, target.is_gpu() ? Element::f16 : Element::f64, true, target);
    }
}

TEST_CASE("alike segments: the number of kernels does not grow with the number of steps") {
  for (const Program& program : kPrograms) {
    CAPTURE(std::string(program.name));
    const auto kernels = [&](int steps) {
      Graph g;
      builder(g).output("y", program.build(g, 16, Element::f32, steps).id);
      return own_kernels(build_sequence(g, {}, {}));
    };
    CHECK(kernels(4 * program.steps) <= kernels(2 * program.steps) + 2);
  }
}

// ---- steps that must not share ----

struct Apart {
  const char* name;
  Formula (*step)(Formula y, int i);
};

const Apart kApart[] = {
    {"exponents", [](Formula y, int i) { return map(ir::OpKind::pow_, {abs(y) + 0.5, like(y, 0.25 * (i + 1))}); }},
    {"divisors", [](Formula y, int i) { return sine(y) / (2.0 + i); }},
    {"bounds", [](Formula y, int i) { return sine(maximum(y, like(y, -0.9 + 0.01 * i)) * 1.5); }},
    {"infinite bounds", [](Formula y, int i) { return sine(y + like(y, i % 2 == 0 ? 1e30 * (i + 1) : -INFINITY)); }},
    {"special numbers", [](Formula y, int i) { return sine(y * (i % 3 - 1.0)); }},
    {"paddings", [](Formula y, int i) { return slice(pad(sine(y), 1, 1, 1, 0.01 * i), 1, 0, 32); }},
    {"positions",
     [](Formula y, int i) { return where(less(iota(*y.graph, y.shape(), 1), number(*y.graph, i + 2, Element::i32)), sine(y), y); }},
};

// Each step is a segment of its own.
TEST_CASE("alike segments: numbers that rules use stay in their kernels") {
  constexpr int kSteps = 8;
  for (const Apart& a : kApart) {
    CAPTURE(std::string(a.name));
    Graph g;
    Formula y = input(g, "x", {16, 32});
    for (int i = 0; i < kSteps; ++i) {
      y = a.step(y, i);
      y = {&g, builder(g).materialize(y.id)};
    }
    builder(g).output("y", y.id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    CHECK(argument_numbers(p) == 0);
    CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-4);
  }
}

Formula stored(Formula y) { return {y.graph, builder(*y.graph).materialize(y.id)}; }

// The product of the numbers of a linear step is computed when the graph is compiled.
TEST_CASE("alike segments: numbers that a rule multiplies stay in their kernels") {
  Graph g;
  Formula y = input(g, "x", {16, 32});
  for (int i = 0; i < 8; ++i) {
    for (int k = 0; k < 10; ++k) y = y + y * (0.01 * (i + 1) + 0.001 * k);
    y = stored(y);
  }
  builder(g).output("y", y.id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(argument_numbers(p) == 0);
  CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
}

TEST_CASE("alike segments: fewer than kFewestAlike have kernels of their own") {
  for (const std::size_t steps : {kFewestAlike - 1, kFewestAlike}) {
    Graph g;
    Formula y = input(g, "x", {16, 32});
    for (std::size_t i = 0; i < steps; ++i) y = stored(sine(y + like(y, 0.1 + 0.07 * static_cast<double>(i))));
    builder(g).output("y", y.id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(argument_numbers(p) == (steps < kFewestAlike ? 0 : steps));
    CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
  }
}

// Slices whose rows begin at other places in a vector are aligned in another way.
TEST_CASE("alike segments: only slices of equal alignment share a kernel") {
  struct {
    std::int64_t distance;
    std::size_t own;
  } const cases[] = {{64, 1}, {16, 3}, {2, 8}};  // of the multiples of 2, fewer than kFewestAlike are multiples of 64 or of 32
  for (const auto& c : cases) {
    CAPTURE(c.distance);
    constexpr int kSteps = 64;
    Graph g;
    const Formula x = input(g, "x", {4, kSteps * 64 + 64});
    Formula y = input(g, "y0", {4, 64});
    for (int i = 0; i < kSteps; ++i) y = stored(sine(y + slice(x, 1, i * c.distance, i * c.distance + 64)));
    builder(g).output("y", y.id);
    const KernelSequence p = build_sequence(g, {}, kAmpere);
    CHECK(own_kernels(p) == c.own);
    // A promise that a kernel has of its argument holds for all its uses.
    for (const SequenceKernel& k : p.kernels)
      for (std::size_t i = 0; i < k.arguments.size(); ++i)
        if (k.arguments[i].kind == KernelArgument::Kind::extent)
          CHECK(k.arguments[i].extent.value() % k.function.params[i].divisible_by == 0);
    CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
  }
}

// It would change the kernels of the other one.
TEST_CASE("alike segments: a number that another segment uses otherwise stays a number") {
  constexpr int kSteps = 8;
  Graph g;
  Formula y = input(g, "x", {16, 32});
  Formula last;
  for (int i = 0; i < kSteps; ++i) {
    last = like(y, 0.2 + 0.07 * i);
    y = stored(sine(y + last));
  }
  y = stored(map(ir::OpKind::pow_, {abs(y) + 0.5, last}));
  builder(g).output("y", y.id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  CHECK(argument_numbers(p) == kSteps - 1);
  CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
}

TEST_CASE("alike segments: a number that two steps have in common is one argument of each") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    Graph g;
    Formula y = input(g, "x", {16, 32});
    Formula time = like(y, 0.2);
    for (int i = 0; i < 12; ++i) {
      const Formula next = like(y, 0.2 + 0.07 * (i + 1));
      y = stored(y + sine(y + time) * 0.1 + map(ir::OpKind::cos_, {y + next}) * 0.2);
      time = next;
    }
    builder(g).output("y", y.id);
    const KernelSequence p = build_sequence(g, {}, target);
    CHECK(p.proof.exact);
    CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
  }
}

// A slice that is stored is memory for the steps after it, and no number of theirs.
TEST_CASE("alike segments: steps read a slice that is stored as they read other values") {
  Graph g;
  const Formula x = input(g, "x", {12, 32});
  Formula y = stored(slice(x, 0, 2, 4));
  for (int i = 0; i < 6; ++i) y = stored(sine(y * (0.3 + 0.1 * i) + slice(x, 0, 2 * i, 2 * i + 2)));
  builder(g).output("y", y.id);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  CHECK(own_kernels(p) <= 2);
  CHECK(errors_of(g, p, random_arguments(g, {}, 7)).at("y") <= 1e-5);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
