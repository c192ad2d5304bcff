// Scans, and reductions by functions of the user: plans, and values against the graph in double precision.
#include <doctest/doctest.h>

#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Combine;
using graph::Graph;
using ir::Element;

constexpr double kTolerance = 4e-6;

Formula scan(Combine kind, Formula x, std::int64_t axis, bool reverse = false) {
  return {x.graph, builder(*x.graph).scan(kind, x.id, axis, reverse)};
}

/// f(earlier, later) as a reduction of x.
template <class F>
Formula reduce_by(Formula x, const graph::GivenAxes& axes, std::uint64_t identity, F f) {
  Graph& g = *x.graph;
  const Element e = g.node(x.id).element;
  const Formula earlier{&g, builder(g).argument(e, 0)}, later{&g, builder(g).argument(e, 1)};
  return {&g, builder(g).reduce_by(x.id, axes, identity, f(earlier, later).id)};
}

/// Fused and node by node.
void check(const Graph& g, const std::map<std::string, std::int64_t>& symbols = {}, std::size_t kernels = 0) {
  for (const bool fuse : {true, false}) {
    CAPTURE(fuse);
    FusionOptions options;
    options.fuse = fuse;
    const KernelSequence p = build_sequence(g, options, {});
    std::string plans;
    for (const SequenceKernel& k : p.kernels) plans += k.name + ": " + k.plan_text + "\n";
    CAPTURE(plans);
    if (fuse && kernels != 0) CHECK(p.kernels.size() == kernels);
    CHECK(p.proof.exact);
    for (const auto& [name, error] : errors_of(g, p, random_arguments(g, symbols, 11))) {
      CAPTURE(name);
      CHECK(error < kTolerance);
    }
  }
}

TEST_CASE("fusion scan: every kind, along every axis, in both directions") {
  for (const Combine kind : {Combine::sum, Combine::prod, Combine::max, Combine::min})
    for (const std::int64_t axis : {0, 1, -1})
      for (const bool reverse : {false, true}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(axis);
        CAPTURE(reverse);
        Graph g;
        const Formula x = input(g, "x", {3, 5, 7});
        builder(g).output("y", scan(kind, x, axis, reverse).id);
        check(g, {}, 1);
      }
}

TEST_CASE("fusion scan: long axes, symbols and extents of one") {
  for (const bool reverse : {false, true}) {
    CAPTURE(reverse);
    Graph g;
    const Dim n = builder(g).dim("n", {}), m = builder(g).dim("m", {});
    const Formula x = input(g, "x", {m, n}), one = input(g, "one", {3, 1});
    builder(g).output("rows", scan(Combine::sum, x, 1, reverse).id);
    builder(g).output("columns", scan(Combine::max, x, 0, reverse).id);
    builder(g).output("alone", scan(Combine::prod, one, 1, reverse).id);
    for (const std::int64_t rows : {1, 33})
      for (const std::int64_t columns : {1, 130, 4500}) {
        CAPTURE(rows);
        CAPTURE(columns);
        check(g, {{"m", rows}, {"n", columns}});
      }
  }
}

TEST_CASE("fusion scan: integers wrap in their own type") {
  for (const Element e : {Element::i8, Element::u8, Element::i16, Element::i32, Element::i64}) {
    Graph g;
    const Formula x = input(g, "x", {3, 300}, e);
    builder(g).output("sum", scan(Combine::sum, x, 1).id);
    builder(g).output("product", scan(Combine::prod, x + like(x, 1), 1).id);
    builder(g).output("min", scan(Combine::min, x, 1, true).id);
    check(g);
  }
  Graph g;  // exact integers of the formula, before they wrap
  builder(g).output("y", cast(scan(Combine::prod, iota(g, {40}, 0) + like(iota(g, {40}, 0), 1), 0), Element::i64).id);
  check(g);
}

TEST_CASE("fusion scan: narrow and wide floats") {
  for (const Element e : {Element::f16, Element::bf16, Element::f64}) {
    Graph g;
    const Formula x = input(g, "x", {4, 90}, e);
    builder(g).output("y", cast(scan(Combine::max, x, 1), Element::f64).id);
    builder(g).output("z", cast(scan(Combine::sum, cast(x, Element::f32), 1), Element::f64).id);
    check(g);
  }
}

TEST_CASE("fusion scan: element-wise formulas before and after it are in its kernel") {
  Graph g;
  const Formula x = input(g, "x", {5, 77}), w = input(g, "w", {77});
  const Formula decay = scan(Combine::sum, exp(x) * w, 1);
  builder(g).output("y", (decay * tanh(x) + w).id);
  check(g, {}, 1);
}

TEST_CASE("fusion scan: several of one direction share a loop, others do not") {
  Graph g;
  const Formula x = input(g, "x", {5, 77}), y = input(g, "y", {5, 77});
  builder(g).output("ratio", (scan(Combine::sum, x, 1) / (abs(scan(Combine::max, y, 1)) + 3.0) + x).id);
  check(g, {}, 1);
  Graph h;
  const Formula z = input(h, "z", {5, 77});
  builder(h).output("both", (scan(Combine::sum, z, 1) + scan(Combine::sum, z, 1, true)).id);
  check(h, {}, 3);
}

TEST_CASE("fusion scan: reductions and products inside of it and over it are computed apart") {
  Graph g;
  const Formula s = input(g, "s", {6, 50}), v = input(g, "v", {50, 12});
  const Formula e = exp(s - max(s)), p = e / sum(e);
  builder(g).output("cumulative", scan(Combine::sum, p, 1).id);
  builder(g).output("attended", Formula{&g, builder(g).matmul(scan(Combine::sum, p, 1).id, v.id, Element::f32)}.id);
  builder(g).output("total", sum(scan(Combine::max, s, 0) * 0.5, {0, 1}, false).id);
  check(g);
  Graph h;
  const Formula q = input(h, "q", {6, 8}), k = input(h, "k", {8, 33});
  builder(h).output("y", scan(Combine::sum, Formula{&h, builder(h).matmul(q.id, k.id, Element::f32)}, 1).id);
  check(h, {}, 2);
}

TEST_CASE("fusion scan: scans of scans, of views, and views of scans") {
  Graph g;
  const Formula x = input(g, "x", {6, 20});
  const Formula c = scan(Combine::sum, x, 1);
  builder(g).output("twice", scan(Combine::sum, c, 1).id);
  builder(g).output("crossed", scan(Combine::sum, scan(Combine::max, x, 0), 1).id);
  builder(g).output("flat", scan(Combine::sum, reshape(x, {120}), 0).id);
  builder(g).output("folded", reshape(scan(Combine::sum, reshape(permute(x, {1, 0}), {120}), 0, true), {4, 30}).id);
  builder(g).output("moved", (slice(c, 1, 1, 20) - slice(c, 1, 0, 19)).id);
  builder(g).output("flipped", Formula{&g, builder(g).flip(scan(Combine::sum, permute(x, {1, 0}), 0).id, 0)}.id);
  builder(g).output("joined", scan(Combine::sum, concat({x, tanh(x)}, 1), 1).id);
  builder(g).output("padded", Formula{&g, builder(g).pad(c.id, 1, 2, 1, builder(g).number(Element::f32, 0.5))}.id);
  builder(g).output("product", einsum("ij,kj->ik", {c, c}).id);
  builder(g).output("same", (c + reshape(scan(Combine::sum, reshape(x, {120}), 0), {6, 20})).id);
  check(g);
}

TEST_CASE("fusion scan: picked at positions that are data") {
  Graph g;
  const Formula x = input(g, "x", {6, 20}), i = input(g, "i", {6, 4}, Element::i32), r = input(g, "r", {5}, Element::i32);
  const Formula c = scan(Combine::sum, x, 1);
  builder(g).output("along", take_along(c, i, 1).id);
  builder(g).output("rows", Formula{&g, builder(g).gather(c.id, r.id, 0)}.id);
  check(g);
}

TEST_CASE("fusion scan: equal scans are one value in memory") {
  Graph g;
  const Formula x = input(g, "x", {6, 20});
  builder(g).output("y", (sum(scan(Combine::sum, x, 1), {1}) * 2.0).id);
  builder(g).output("z", max(scan(Combine::sum, x, 1), {1}).id);
  const KernelSequence p = build_sequence(g, {}, {});
  std::size_t intermediates = 0;
  for (const SequenceBuffer& b : p.buffers) intermediates += b.kind == BufferKind::intermediate;
  CHECK(intermediates == 1);
  check(g);
}

TEST_CASE("fusion scan: a maximum is not checked, and the proof says so") {
  Graph g;
  const Formula x = input(g, "x", {6, 20});
  builder(g).output("y", scan(Combine::max, x, 1).id);
  CHECK(build_sequence(g, {}, {}).proof.text.find("running maxima") != std::string::npos);
  Graph h;
  builder(h).output("y", scan(Combine::sum, input(h, "x", {6, 20}), 1).id);
  const KernelSequence p = build_sequence(h, {}, {});
  CHECK(p.proof.rounds > 0);
  CHECK(p.proof.text.find("with the graph alone") == std::string::npos);
}

// ---- functions of the user ----

TEST_CASE("fusion reduce by a function: one axis, several, a loop, symbols") {
  const auto hypotenuse = [](Formula a, Formula b) { return sqrt(a * a + b * b); };
  Graph g;
  const Dim n = builder(g).dim("n", {});
  const Formula x = input(g, "x", {5, n, 3});
  builder(g).output("middle", reduce_by(x, {{1}}, 0, hypotenuse).id);
  builder(g).output("last", reduce_by(exp(tanh(x)), {{-1}}, 0, hypotenuse).id);
  builder(g).output("all", reduce_by(x, std::nullopt, 0, hypotenuse).id);
  for (const std::int64_t length : {1, 7, 3000}) check(g, {{"n", length}});
}

TEST_CASE("fusion reduce by a function: elements are combined in order") {
  // The last one that is not 0.
  const auto last = [](Formula a, Formula b) { return where(equal(b, like(b, 0)), a, b); };
  Graph g;
  const Formula given = input(g, "x", {4, 6, 700}), x = maximum(given, like(given, 0));
  builder(g).output("y", reduce_by(x, {{2}}, 0, last).id);
  builder(g).output("z", reduce_by(x, {{0, 1}}, 0, last).id);
  builder(g).output("flat", reduce_by(reshape(permute(x, {2, 0, 1}), {700 * 24}), {{0}}, 0, last).id);
  builder(g).output("joined", reduce_by(concat({x, tanh(x)}, 0), {{0}}, 0, last).id);
  check(g);
}

TEST_CASE("fusion reduce by a function: integers and conditions") {
  Graph g;
  const Formula i = input(g, "i", {3, 90}, Element::i32);
  builder(g).output("xor", reduce_by(i, {{1}}, 0, [](Formula a, Formula b) { return map(ir::OpKind::bit_xor_, {a, b}); }).id);
  const Formula is_odd = equal(i, like(i, 1));
  builder(g).output("parity", reduce_by(is_odd, {{1}}, 0, [](Formula a, Formula b) { return map(ir::OpKind::bit_xor_, {a, b}); }).id);
  check(g);
}

TEST_CASE("fusion reduce by a function: of a softmax, and inside of one") {
  const auto hypotenuse = [](Formula a, Formula b) { return sqrt(a * a + b * b); };
  Graph g;
  const Formula s = input(g, "s", {6, 300});
  const Formula e = exp(s - max(s)), p = e / sum(e);
  builder(g).output("norm", reduce_by(p, {{1}}, 0, hypotenuse).id);
  const Formula r = Formula{&g, builder(g).expand_dims(reduce_by(s, {{1}}, 0, hypotenuse).id, 1)};
  const Formula f = exp(s / r);
  builder(g).output("scaled", (f / sum(f)).id);
  check(g);
  CHECK(build_sequence(g, {}, {}).proof.text.find("functions of the user") != std::string::npos);
}

TEST_CASE("fusion reduce by a function: equal functions are one reduction") {
  const auto hypotenuse = [](Formula a, Formula b) { return sqrt(a * a + b * b); };
  Graph g;
  const Formula s = input(g, "s", {6, 300});
  builder(g).output("y", (reduce_by(s, {{1}}, 0, hypotenuse) - reduce_by(s, {{1}}, 0, hypotenuse)).id);
  check(g, {}, 1);
  CHECK(build_sequence(g, {}, {}).kernels[0].plan_text.find("r1") == std::string::npos);
}

TEST_CASE("fusion fold: a function in which each value is used twice is computed once for each pair of elements") {
  for (const int depth : {1, 60}) {
    CAPTURE(depth);
    Graph g;
    const Formula x = input(g, "x", {3, 8});
    builder(g).output("y", reduce_by(x, graph::GivenAxes{{1}}, 0, [&](Formula earlier, Formula later) {
                             Formula t = maximum(earlier, later);
                             for (int i = 0; i < depth; ++i) t = maximum(t, t);
                             return t;
                           }).id);
    check(g, {}, 1);
  }
}

TEST_CASE("fusion fold: a deep function needs no deep stack") {
  Graph g;
  const Formula x = input(g, "x", {2, 2});
  builder(g).output("y", reduce_by(x, graph::GivenAxes{{1}}, 0, [&](Formula earlier, Formula later) {
                           Formula t = earlier;
                           for (int i = 0; i < 40000; ++i) t = maximum(t, later);
                           return t;
                         }).id);
  CHECK(build_sequence(g, {}, {}).kernels.size() == 1);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
