// The work of derivations as graphs grow, counted in steps instead of seconds; graphs of any depth can be derived.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "passes/fusion/check/field_eval.h"
#include "passes/fusion/expr/expr_text.h"
#include "passes/fusion/expr/integer_range.h"
#include "passes/fusion/expr/value_bounds.h"
#include "passes/fusion/segments/segment_parts.h"
#include "passes/fusion/segments/segments.h"
#include "passes/fusion/thresholds.h"
#include "tests/unit/passes/fusion/families.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"

namespace tilewright::passes::fusion::test {
namespace {

KernelSequence sequence_of(const Family& f, std::size_t nodes, const FusionOptions& options = {}) {
  graph::Graph g;
  build_family(f, g, nodes);
  return build_sequence(g, options, {});
}

const Family& family(const std::string& name) {
  for (const Family& f : families())
    if (f.name == name) return f;
  FAIL("no family " << name);
  return families()[0];
}

Formula sine_of(Formula x) { return map(ir::OpKind::sin_, {x}); }

TEST_CASE("fusion growth: no family takes more steps than its nodes to the power of 1.2") {
  constexpr double kMostPower = 1.2;
  for (const Family& f : families()) {
    CAPTURE(f.name);
    // Steps of both sizes have parts of all kinds; where parts are alike, most of them take no step at all.
    graph::Graph few, many;
    build_family(f, few, 500);
    build_family(f, many, 2000);
    const auto steps = static_cast<double>(build_sequence(few, {}, {}).steps),
               more = static_cast<double>(build_sequence(many, {}, {}).steps);
    const double growth = static_cast<double>(many.size()) / static_cast<double>(few.size());
    CAPTURE(steps);
    CAPTURE(more);
    CHECK(more <= steps * std::pow(growth, kMostPower));
    CHECK(more <= 500 * static_cast<double>(many.size()));
  }
}

TEST_CASE("fusion growth: a segment has a bounded number of operations") {
  for (const Family& f : families()) {
    CAPTURE(f.name);
    graph::Graph g;
    build_family(f, g, 1000);
    std::size_t cut = 0, parts = 0, repeated = 0;
    for (const Segment& s : divide(g)) {
      CHECK(operations_of(g, s) <= kMostOperations);
      if (s.cut) ++cut, parts += s.cut->parts;
      repeated += s.repeated.size();
    }
    const bool is_shifted = f.name == "stencil" || f.name == "valid_stencil" || f.name == "rotations";
    CHECK((repeated > 10) == is_shifted);
    // Each operand of a concatenation is a segment.
    const bool is_joined = f.name == "concatenation" || f.name == "joined_twice" || f.name == "rows_added" || f.name == "scaled_rows";
    if (f.name == "layers" || is_shifted || is_joined)
      CHECK(cut == 0);
    else
      CHECK(parts > 2);
  }
}

TEST_CASE("fusion growth: what is cut has the values of the whole") {
  for (const Family& f : families()) {
    CAPTURE(f.name);
    for (const std::uint64_t steps : {FusionOptions().steps_of_operation, std::uint64_t{3}}) {
      CAPTURE(steps);
      graph::Graph g;
      build_family(f, g, f.name == "conjugate_gradients" ? 80 : 240);
      FusionOptions options;
      options.steps_of_operation = steps;
      const KernelSequence p = build_sequence(g, options, {});
      CHECK(p.proof.exact);
      constexpr double kTolerance = 1e-4;  // hundreds of roundings, one after the other
      for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) {
        CAPTURE(name);
        CHECK(error < kTolerance);
      }
    }
  }
}

TEST_CASE("fusion growth: node by node, nodes that compute the same of other tensors have one kernel") {
  FusionOptions unfused;
  unfused.fuse = false;
  const auto own_kernels = [&](const Family& f, std::size_t nodes) {
    const KernelSequence p = sequence_of(f, nodes, unfused);
    return std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; });
  };
  CHECK(own_kernels(family("chain"), 1000) == 1);
  for (const char* name : {"sinkhorn", "runge_kutta", "layers", "norms"}) {
    CAPTURE(name);
    CHECK(own_kernels(family(name), 400) == own_kernels(family(name), 100));
  }
  // Numbers that differ are arguments; what parameters alone determine has its own numbers, and is computed before a run.
  graph::Graph horner;
  const Formula data = input(horner, "x", {64, 32}), x = tanh(data) * 0.5;
  graph::Node weights = horner.node(data.id);
  weights.text = "w";
  weights.is_parameter = true;
  Formula y = x, w{&horner, horner.append(weights)};
  for (int i = 0; i < 200; ++i) {
    y = y * x + 1.0 / (i + 3.0);
    w = w * (1.0 + 0.125 / (i + 3.0));
  }
  builder(horner).output("y", (y * w).id);
  const KernelSequence steps = build_sequence(horner, unfused, {});
  const auto is_own = [](const SequenceKernel& k) { return k.like < 0; };
  CHECK(std::count_if(steps.kernels.begin(), steps.kernels.end(), is_own) <= 6);
  CHECK(steps.parameter_kernels.size() == 200);
  CHECK(steps.proof.exact);
  for (const auto& [name, error] : errors_of(horner, steps, random_arguments(horner, {}, 3))) CHECK(error < 1e-4);
  for (const Family& f : families()) {
    CAPTURE(f.name);
    graph::Graph g;
    build_family(f, g, 80);
    const KernelSequence p = build_sequence(g, unfused, {});
    CHECK(p.proof.exact);
    constexpr double kTolerance = 1e-4;
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) {
      CAPTURE(name);
      CHECK(error < kTolerance);
    }
  }
}

TEST_CASE("fusion growth: reports say what is cut, and why") {
  const auto has = [](const KernelSequence& p, const std::string& text) {
    return std::any_of(p.not_fused.begin(), p.not_fused.end(), [&](const std::string& line) { return line.find(text) != line.npos; });
  };
  const KernelSequence chain = sequence_of(family("chain"), 1000);
  REQUIRE(chain.not_fused.size() == 1);
  CHECK(chain.not_fused[0] == "not fused: 999 operations up to sin (test.cpp:1000) are derived in 7 parts, because a part has at most 160");
  CHECK(chain.kernels.size() == 7);
  CHECK(sequence_of(family("chain"), 100).not_fused.empty());
  FusionOptions few_steps;
  few_steps.steps_of_operation = 10;
  CHECK(has(sequence_of(family("softmaxes"), 60, few_steps), "are derived in 2 parts, because the whole takes more than "));
  CHECK(!has(sequence_of(family("softmaxes"), 60), "the whole takes more than "));
}

// Multiplied out, a product of k differences from averages has 2^k terms. It takes another pass, and so do sums with their own sums.
TEST_CASE("fusion growth: a product of sums with pending reductions is not multiplied out further than loops have accumulators") {
  const auto steps = [](ir::Element element, bool is_difference, const ir::TargetDesc& target, int factors) {
    graph::Graph g;
    std::optional<Formula> product;
    for (int i = 0; i < factors; ++i) {
      const Formula x = input(g, "x" + std::to_string(i), {3, 64}, element);
      const Formula factor = is_difference ? x - sum(x, {1}) / 64.0 : x + max(x, {1});
      product = product ? *product * factor : factor;
    }
    builder(g).output("y", sum(*product, {1}).id);
    const KernelSequence p = build_sequence(g, {}, target);
    CHECK(p.proof.exact);
    return static_cast<double>(p.steps);
  };
  for (const ir::Element element : {ir::Element::f32, ir::Element::f64, ir::Element::bf16})
    for (const bool is_difference : {true, false})
      for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
        CAPTURE(ir::text(element));
        CAPTURE(is_difference);
        CAPTURE(target.is_gpu());
        const double few = steps(element, is_difference, target, 8), many = steps(element, is_difference, target, 16);
        CHECK(many <= 3 * few);
      }
}

// Kernels of outputs that read the same are merged, and each attempt plans, checks and emits all outputs of the merged kernel.
TEST_CASE("fusion growth: outputs of one value take nearly as many steps as there are outputs, in one segment") {
  for (const std::string name : {"outputs_of_product", "outputs_of_reduction", "outputs_of_function"})
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      CAPTURE(name);
      CAPTURE(target.is_gpu());
      const auto steps = [&](int outputs) {
        graph::Graph g;
        family(name).build(g, outputs);
        const KernelSequence p = build_sequence(g, {}, target);
        CHECK(p.proof.exact);
        CHECK(p.not_fused.empty());
        std::size_t written = 0;
        for (const SequenceKernel& k : p.kernels) {
          written += k.writes.size();
          CHECK(k.writes.size() <= kMostMergedOutputs);
        }
        CHECK(p.kernels.size() <= static_cast<std::size_t>(outputs) / 16 + 2);
        CHECK(written <= static_cast<std::size_t>(outputs) + 1);
        return static_cast<double>(p.steps);
      };
      constexpr double kMostPower = 1.2;
      CHECK(steps(128) <= std::pow(8, kMostPower) * steps(16));
    }
}

// The tree of conditions above the operands, and not all of them, is walked for each element.
TEST_CASE("fusion growth: a concatenation takes as many steps as it has operands") {
  const auto steps = [](int operands, const Dim& extent, const ir::TargetDesc& target, std::size_t kernels) {
    graph::Graph g;
    std::vector<Formula> all;
    for (int i = 0; i < operands; ++i) all.push_back(input(g, "x" + std::to_string(i), {extent, 8}));
    builder(g).output("y", concat(all, 0).id);
    const KernelSequence p = build_sequence(g, {}, target);
    CHECK(p.kernels.size() == kernels);
    CHECK(p.proof.exact);
    return static_cast<double>(p.steps);
  };
  constexpr double kMost = 8 * 1.35;  // 8 times the operands, and three conditions more for each
  for (const int extent : {1, 3}) {
    CHECK(steps(32, extent, kAmpere, 1) <= kMost / 4 * steps(16, extent, kAmpere, 1));
    CHECK(steps(320, extent, kAmpere, 320) <= kMost * steps(40, extent, kAmpere, 40));
    CHECK(steps(320, extent, {}, 320) <= kMost * steps(40, extent, {}, 40));
  }
}

TEST_CASE("fusion growth: what is read at many positions is stored, and what is cheap is not") {
  ir::TargetDesc gpu, host;
  gpu.kind = ir::TargetDesc::Kind::nvptx;
  gpu.sm = 80;
  gpu.shared_bytes = 166912;
  const auto repeated = [](auto&& value, int taps, const ir::TargetDesc& target) {
    CAPTURE(target.is_gpu());
    graph::Graph g;
    const Formula padded = pad(value(input(g, "x", {64, 40})), 1, 0, taps - 1);
    Formula total = slice(padded, 1, 0, 40);
    for (int i = 1; i < taps; ++i) total = total + slice(padded, 1, i, i + 40) * (0.5 * i);
    builder(g).output("y", total.id);
    const KernelSequence p = build_sequence(g, {}, target);
    CHECK(p.proof.exact);
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) CHECK(error < 1e-5);
    const bool is_said = std::any_of(p.not_fused.begin(), p.not_fused.end(), [](const std::string& line) {
      return line.find("is stored, because one element of what follows reads it at many positions") != line.npos;
    });
    CHECK(is_said == (p.kernels.size() > 1));
    return p.kernels.size();
  };
  CHECK(repeated([](Formula x) { return sine_of(x); }, 8, gpu) == 1);
  CHECK(repeated([](Formula x) { return sine_of(x); }, 9, gpu) == 2);
  CHECK(repeated([](Formula x) { return cast(x, ir::Element::f64); }, 9, gpu) == 1);
  CHECK(repeated([](Formula x) { return x; }, 30, gpu) == 1);
  // A host copies a pad with its values, once, from fewer positions on, and computes functions of neighbours once.
  CHECK(repeated([](Formula x) { return sine_of(x); }, 2, host) == 2);
  CHECK(repeated([](Formula x) { return sine_of(x); }, 3, host) == 2);
  CHECK(repeated([](Formula x) { return x * 0.7 + x * x; }, 4, host) == 1);
  CHECK(repeated([](Formula x) { return x * 0.7 + x * x; }, 5, host) == 2);
  CHECK(repeated([](Formula x) { return cast(x, ir::Element::f64); }, 9, host) == 2);
  CHECK(repeated([](Formula x) { return x; }, 30, host) == 2);
  // Views between change nothing; along a reduced axis all positions are one.
  CHECK(repeated([](Formula x) { return permute(permute(sine_of(x), {1, 0}), {1, 0}); }, 9, gpu) == 2);
  CHECK(repeated([](Formula x) { return squeeze(expand(sine_of(x), 2)); }, 9, gpu) == 2);
  CHECK(repeated([](Formula x) { return broadcast_to(sum(sine_of(x)), {64, 40}); }, 9, gpu) == 1);
}

// How the elements of one value become those of the next one: the ops whose results read elements at other positions.
struct Move {
  std::string name;
  Formula (*move)(Formula x, const Dim& n, int step);  // x: [n, 8]
};

const Move kMoves[] = {
    {"rotate", [](Formula x, const Dim&, int i) { return Formula{x.graph, builder(*x.graph).rotate(x.id, 0, i + 1)}; }},
    {"rotate back", [](Formula x, const Dim&, int i) { return Formula{x.graph, builder(*x.graph).rotate(x.id, 0, -(i + 1))}; }},
    {"flip", [](Formula x, const Dim&, int i) { return Formula{x.graph, builder(*x.graph).flip(x.id, i % 2)}; }},
    {"pad", [](Formula x, const Dim& n, int i) { return slice(pad(x, 0, i + 1, 0), 0, 0, n); }},
    {"concat", [](Formula x, const Dim& n, int i) { return concat({slice(x, 0, i + 1, n), slice(x, 0, 0, i + 1)}, 0); }},
    {"slice", [](Formula x, const Dim& n, int) { return Formula{x.graph, builder(*x.graph).slice(concat({x, x}, 0).id, 0, 0, n * 2, 2)}; }},
    {"gather",
     [](Formula x, const Dim& n, int i) {
       const Formula at = iota(*x.graph, {n}, 0), step = like(at, i + 1);
       return Formula{x.graph, builder(*x.graph).gather(x.id, where(greater_equal(at, step), at - step, at).id, 0)};
     }},
    {"take_along",
     [](Formula x, const Dim& n, int i) {
       const Formula at = iota(*x.graph, {n, 8}, 0), step = like(at, i + 1);
       return take_along(x, where(greater_equal(at, step), at - step, at), 0);
     }},
    {"where",
     [](Formula x, const Dim& n, int i) {
       const Formula at = expand(iota(*x.graph, {n}, 0), 1);
       return where(greater_equal(at, like(at, i + 1)), x, x * 2.0);
     }},
};

// Each of so many moved values reads the one before it, which one element of the last one may do in 2^k ways.
TEST_CASE("fusion growth: moves of moved values do not multiply, whole and inside of reductions") {
  const auto steps = [](const Move& m, bool is_added, int reduced, bool is_symbolic, int count) {
    graph::Graph g;
    const Dim n = is_symbolic ? g.symbols()->add("n", {.min = 128, .multiple_of = 4}, {"test.cpp", 1, 0}) : Dim(128);
    Formula y = input(g, "x", {n, 8});
    for (int i = 0; i < count; ++i) {
      const Formula moved = m.move(y, n, i);
      y = is_added ? y * 0.5 + moved : moved;
    }
    if (reduced == 1) y = sum(y, {0});
    if (reduced == 2) y = max(y, {0, 1});
    builder(g).output("y", y.id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    return static_cast<double>(p.steps);
  };
  for (const Move& m : kMoves)
    for (const bool is_added : {false, true})
      for (const int reduced : {0, 1, 2})
        for (const bool is_symbolic : {false, true}) {
          CAPTURE(m.name);
          CAPTURE(is_added);
          CAPTURE(reduced);
          CAPTURE(is_symbolic);
          const double few = steps(m, is_added, reduced, is_symbolic, 24), many = steps(m, is_added, reduced, is_symbolic, 48);
          // The position of a gather is put into those of the gathers inside of it: n^1.3 within the bounds of a segment.
          CHECK(many <= 2.6 * few);
        }
}

// The value beside a stored pad is stored, too: without it each later pad would be computed from the first one on.
TEST_CASE("fusion growth: steps of a padded stencil have equal kernels on hosts and on GPUs") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    CAPTURE(target.is_gpu());
    graph::Graph g;
    build_family(family("stencil"), g, 1000);
    const KernelSequence p = build_sequence(g, {}, target);
    CHECK(p.proof.exact);
    CHECK(std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }) <= 4);
    for (const SequenceKernel& k : p.kernels) CHECK(k.reads.size() <= 2);
  }
}

// The multiplications and additions of a run; extents are constants.
double operations(const KernelSequence& p) {
  double all = 0;
  for (const SequenceKernel& k : p.kernels)
    for (const FlopCount& c : k.flops) {
      double elements = c.each;
      for (const Dim& d : c.space) elements *= static_cast<double>(d.value());
      all += elements;
    }
  return all;
}

void check_values(const graph::Graph& g, const KernelSequence& p) {
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) {
    CAPTURE(name);
    CHECK(error < 1e-4);
  }
}

// A layer reads the results of all layers before it, as columns of one tensor.
Formula dense_block(graph::Graph& g, int layers, Formula (*layer)(graph::Graph&, Formula x, int number)) {
  Formula x = input(g, "x", {64, 32});
  for (int i = 0; i < layers; ++i) x = concat({x, layer(g, x, i)}, 1);
  return x;
}
Formula layer_of_products(graph::Graph& g, Formula x, int number) {
  return tanh(einsum("nk,kf->nf", {x * 0.125, input(g, "w" + std::to_string(number), {x.shape()[1], 16})}));
}
// The first columns and the last ones, which are the layer before.
Formula layer_of_columns(graph::Graph&, Formula x, int) {
  const Dim columns = x.shape()[1];
  return slice(x, 1, 0, 32) * 0.25 + sine_of(slice(x, 1, columns - 32, columns));
}

TEST_CASE("fusion growth: the layers of a dense block are computed once") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere})
    for (const int layers : {3, 6, 12}) {
      CAPTURE(target.is_gpu());
      CAPTURE(layers);
      graph::Graph g;
      builder(g).output("y", sum(dense_block(g, layers, layer_of_products)).id);
      const KernelSequence p = build_sequence(g, {}, target);
      check_values(g, p);
      CHECK(operations(p) <= 1.2 * operations(build_sequence(g, {.fuse = false}, target)));
    }
}

TEST_CASE("fusion growth: a piece that later pieces read is computed a bounded number of times") {
  const auto operations_of_layers = [](int layers, const ir::TargetDesc& target) {
    graph::Graph g;
    builder(g).output("y", sum(dense_block(g, layers, layer_of_columns)).id);
    const KernelSequence p = build_sequence(g, {}, target);
    check_values(g, p);
    return operations(p) / operations(build_sequence(g, {.fuse = false}, target));
  };
  for (const int layers : {4, 8, 16}) {
    CAPTURE(layers);
    CHECK(operations_of_layers(layers, {}) <= 2.5);
  }
}

// Each step scans u, from which all earlier steps subtract what they carry.
TEST_CASE("fusion growth: steps with scans read a bounded number of tensors") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    CAPTURE(target.is_gpu());
    for (const int steps : {6, 12, 24}) {
      CAPTURE(steps);
      graph::Graph g;
      Formula u = input(g, "u", {24, 16}), v = input(g, "v", {24, 16});
      for (int i = 0; i < steps; ++i) {
        v = v * 0.75 + Formula{&g, builder(g).scan(graph::Combine::sum, u.id, 0, false)} * 0.03125;
        u = u - v * 0.125;
      }
      builder(g).output("y", u.id);
      const KernelSequence p = build_sequence(g, {}, target);
      check_values(g, p);
      for (const SequenceKernel& k : p.kernels) CHECK(k.reads.size() <= 8);
      CHECK(p.kernels.size() <= 2 * static_cast<std::size_t>(steps));
    }
  }
}

// An element of v reads a window of u in each earlier step, so that few steps are many reads.
TEST_CASE("fusion growth: steps with windows compute what they carry once") {
  constexpr std::int64_t kLength = 64;
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere})
    for (const int steps : {6, 12}) {
      CAPTURE(target.is_gpu());
      CAPTURE(steps);
      graph::Graph g;
      Formula u = input(g, "u", {kLength, 16}), v = input(g, "v", {kLength, 16});
      for (int i = 0; i < steps; ++i) {
        const Formula windows{&g, builder(g).window(pad(u, 0, 2, 2).id, 0, 5, 1, 1)};
        v = v * 0.75 + sum(windows, {-1}, false) * 0.2;
        u = u - v * 0.125;
      }
      builder(g).output("y", u.id);
      const KernelSequence p = build_sequence(g, {}, target);
      check_values(g, p);
      CHECK(operations(p) <= 1.2 * operations(build_sequence(g, {.fuse = false}, target)));
    }
}

TEST_CASE("fusion growth: a scan inside of another one and beside it is stored once") {
  graph::Graph g;
  const auto running_sum = [&](Formula x) { return Formula{&g, builder(g).scan(graph::Combine::sum, x.id, 0, false)}; };
  const Formula x = input(g, "x", {24, 16, 1}), b = input(g, "b", {24, 1, 4}), c = input(g, "c", {24, 1, 4});
  const Formula decay = running_sum(log(exp(x) + 1.0) * input(g, "a", {16, 4}) * 0.125);
  const Formula states = exp(decay) * running_sum(x * b * exp(-decay));
  builder(g).output("y", sum(states * c).id);
  const KernelSequence p = build_sequence(g, {}, {});
  check_values(g, p);
  CHECK(std::count_if(p.buffers.begin(), p.buffers.end(),
                      [&](const SequenceBuffer& t) { return t.source == decay.id || t.node == decay.id; }) == 1);
}

// A reduction of nested rotations is compared with its definition, at positions that are computed from positions.
TEST_CASE("fusion growth: the exact check of a plan visits a position that others read again once") {
  ExprPool pool;
  ExprBuilder b(pool);
  const Axis axis = pool.axis("i", 64);
  TensorInfo info;
  info.name = "x";
  info.element = ir::Element::f32;
  info.shape = {64};
  info.strides = {1};
  const Tensor x = pool.add_tensor(std::move(info));
  Expr position = b.index(axis);
  for (int i = 0; i < 40; ++i) {
    const Expr from = b.subtract(position, b.number(i + 1));
    position = b.select(b.at_least_zero(from), from, b.add({from, b.number(64)}), ir::Element::i64);
  }
  const Expr total = b.reduce(graph::Combine::sum, {axis}, b.load(x, {position}), {}, ir::Element::f32);
  FieldEvaluator evaluator(1, axis, [](Expr, const Point&, const Modulus&) -> std::optional<std::uint64_t> { return std::nullopt; });
  CHECK(evaluator.value(total, {}, Modulus::values()) != 0);
}

TEST_CASE("fusion growth: a function that one reduction after the other reads is stored, and read") {
  const auto is_stored = [](int steps, bool is_outer, Formula (*function)(Formula)) {
    graph::Graph g;
    const Formula x = is_outer ? input(g, "x", {24, 1}) + input(g, "z", {32}) : input(g, "x", {24, 32});
    const Formula k = function(x * 0.25), a = input(g, "a", {24}) * 0.125 + 2.0, b = input(g, "b", {32}) * 0.125 + 2.0;
    Formula u = a, v = b;
    for (int i = 0; i < steps; ++i) {
      u = a / einsum("ij,j->i", {k, v});
      v = b / einsum("ij,i->j", {k, u});
    }
    builder(g).output("y", (k * expand(u, 1) * v).id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) CHECK(error < 1e-5);
    const bool is_said = std::any_of(p.not_fused.begin(), p.not_fused.end(), [](const std::string& line) {
      return line.find("is stored, because more than 3 reductions that wait for each other read it") != line.npos;
    });
    const auto is_computed = [&](const SequenceKernel& kernel) {
      return std::any_of(kernel.covers.begin(), kernel.covers.end(), [&](graph::NodeId n) { return n == k.id; });
    };
    if (is_said) {
      CHECK(std::count_if(p.kernels.begin(), p.kernels.end(), is_computed) == 1);
      CHECK(p.kernels.size() > 1);
    }
    return is_said;
  };
  const auto positive = [](Formula x) { return exp(x); };
  CHECK_FALSE(is_stored(1, false, positive));
  CHECK(is_stored(2, false, positive));
  CHECK(is_stored(6, false, positive));
  // The data of an outer sum are fewer than its elements; a product takes no longer than to read it.
  CHECK_FALSE(is_stored(6, true, positive));
  CHECK_FALSE(is_stored(6, false, [](Formula x) { return x * x + 1.0; }));
}

TEST_CASE("fusion growth: equal steps of a solver are derived once") {
  for (const char* name : {"chain", "stencil", "sinkhorn", "runge_kutta", "norms", "softmaxes", "branches", "ladder"}) {
    CAPTURE(name);
    const KernelSequence p = sequence_of(family(name), 2000);
    std::size_t own = 0;
    for (const SequenceKernel& k : p.kernels) own += k.like < 0 ? 1 : 0;
    CHECK(own <= 3 * (p.kernels.size() / 4));
  }
}

TEST_CASE("fusion growth: no walk is as deep as a graph") {
  constexpr std::size_t kNodes = 30000;
  for (const char* name : {"chain", "ladder", "dense"}) {
    CAPTURE(name);
    const KernelSequence p = sequence_of(family(name), kNodes);
    CHECK(p.proof.exact);
    CHECK(p.kernels.size() < kNodes / 100);
  }
}

// As a tree it has 2^40 parts.
TEST_CASE("fusion growth: a formula that uses its parts again is printed with names for them") {
  ExprPool pool;
  ExprBuilder b(pool);
  TensorInfo info;
  info.name = "x";
  info.element = ir::Element::f32;
  Expr e = b.load(pool.add_tensor(info), {});
  for (int i = 0; i < 40; ++i) e = b.function(ir::OpKind::atan2_, {b.exp(e), e}, ir::Element::f32);
  const std::string printed = text(e);
  CHECK(printed.size() < 4000);
  CHECK(printed.starts_with("atan2(exp(v"));
  CHECK(printed.find(" where v0 = atan2(exp(x), x), v1 = atan2(exp(v0), v0), ") != printed.npos);
}

// As a tree it has 2^60 leaves.
TEST_CASE("fusion growth: bounds of values visit what is used twice once") {
  ExprPool pool;
  ExprBuilder b(pool);
  const Axis axis = pool.axis("i", 4);
  constexpr int kSteps = 60;
  Expr real = b.function(ir::OpKind::tanh_, {b.index(axis)}, ir::Element::f32), whole = b.index(axis);
  for (int i = 0; i < kSteps; ++i) {
    const Expr condition = b.at_least_zero(b.subtract(b.index(axis), b.number(i % 3 + 1)));
    real = b.select(condition, b.add({real, b.one()}), b.scale(Rational(1, 2), real));
    whole = b.select(condition, b.add({whole, b.one()}), b.scale(-1, whole), ir::Element::i32);
  }
  const ValueBounds bounds = value_bounds(real);
  CHECK(bounds.least >= -1);
  CHECK(bounds.greatest <= kSteps + 1);
  const Range range = integer_range(whole);
  CHECK(range.least >= -kSteps - 4);
  CHECK(range.greatest <= kSteps + 4);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
