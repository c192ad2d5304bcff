// scatter_add: values, with duplicates and formulas around it; deterministic sums, and atomics where they are allowed.
#include <doctest/doctest.h>

#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion::test {
namespace {

using graph::Graph;
using ir::Element;

constexpr double kTolerance = 4e-6;

Formula scatter_add(Formula t, Formula index, Formula updates, std::int64_t axis) {
  return {t.graph, builder(*t.graph).scatter_add(t.id, index.id, updates.id, axis)};
}

bool has_atomics(const KernelSequence& p) {
  bool result = false;
  for (const SequenceKernel& k : p.kernels)
    k.function.walk([&](ir::OpId op) { result = result || k.function.kind(op) == ir::OpKind::atomic_add_; });
  return result;
}

/// Fused and node by node, in order and by atomics.
void check(const Graph& g, const std::map<std::string, std::int64_t>& symbols = {}, std::size_t kernels = 0) {
  for (const bool fuse : {true, false})
    for (const bool deterministic : {true, false}) {
      CAPTURE(fuse);
      CAPTURE(deterministic);
      FusionOptions options;
      options.fuse = fuse;
      options.deterministic = deterministic;
      const KernelSequence p = build_sequence(g, options, {});
      if (fuse && deterministic && kernels != 0) CHECK(p.kernels.size() == kernels);
      CHECK(p.proof.exact);
      CHECK(p.proof.text.find("scatter_add") != std::string::npos);
      for (const auto& [name, error] : errors_of(g, p, random_arguments(g, symbols, 11))) {
        CAPTURE(name);
        CHECK(error < kTolerance);
      }
    }
}

TEST_CASE("fusion scatter_add: every axis, indices of any rank, duplicates") {
  for (const std::int64_t axis : {0, 1, -1})
    for (const int rank : {0, 1, 2}) {
      CAPTURE(axis);
      CAPTURE(rank);
      Graph g;
      graph::TensorShape shape{4, 5, 6}, positions;
      if (rank > 0) positions.push_back(7);
      if (rank > 1) positions.push_back(3);
      const auto at = shape.begin() + (axis < 0 ? axis + 3 : axis);
      graph::TensorShape updates(shape.begin(), at);
      updates.insert(updates.end(), positions.begin(), positions.end());
      updates.insert(updates.end(), at + 1, shape.end());
      builder(g).output("y", scatter_add(input(g, "x", shape), input(g, "i", positions, Element::i32), input(g, "u", updates), axis).id);
      check(g, {}, 1);
    }
}

TEST_CASE("fusion scatter_add: one axis, symbols, extents of one") {
  Graph g;
  const Dim n = builder(g).dim("n", {}), m = builder(g).dim("m", {.min = 3});
  const Formula i = input(g, "i", {n}, Element::i64);
  builder(g).output("y", scatter_add(input(g, "x", {m}), i, input(g, "u", {n}), 0).id);
  builder(g).output("z", scatter_add(input(g, "w", {m, 1}), i, input(g, "v", {n, 1}), 0).id);
  for (const std::int64_t updates : {1, 50})
    for (const std::int64_t rows : {3, 700}) check(g, {{"n", updates}, {"m", rows}});
}

TEST_CASE("fusion scatter_add: integers add by atomics in every order, narrow ones and floats in order") {
  for (const Element e : {Element::i8, Element::u16, Element::i32, Element::u64, Element::f32, Element::f64}) {
    Graph g;
    const Formula i = input(g, "i", {40}, Element::u8);
    builder(g).output("y", scatter_add(input(g, "x", {3, 5}, e), i, input(g, "u", {40, 5}, e), 0).id);
    check(g);
    CHECK(has_atomics(build_sequence(g, {}, {})) == (ir::is_integer(e) && ir::bits(e) >= 32));
    FusionOptions any_order;
    any_order.deterministic = false;
    CHECK(has_atomics(build_sequence(g, any_order, {})) == (ir::bits(e) >= 32));
    // A host of few threads has none.
    ir::TargetDesc two_threads;
    two_threads.processors = 2;
    CHECK(!has_atomics(build_sequence(g, any_order, two_threads)));
  }
}

// Each program reads every index, and a host predicts badly which of them are in its rows.
TEST_CASE("fusion scatter_add: a host adds few columns by one program") {
  Graph g;
  const Formula i = input(g, "i", {100000}, Element::i32);
  builder(g).output("y", scatter_add(input(g, "x", {5000, 8}), i, input(g, "u", {100000, 8}), 0).id);
  for (const int processors : {1, 2, 16}) {
    ir::TargetDesc host;
    host.processors = processors;
    const KernelSequence p = build_sequence(g, {}, host);
    CHECK(p.kernels.size() == 1);
    for (const auto& factors : p.kernels[0].grid)
      for (const GridFactor& f : factors) CHECK(f.programs(f.extent.value()) == 1);
  }
}

TEST_CASE("fusion scatter_add: sums of narrow floats round once") {
  Graph g;
  const Formula x = input(g, "x", {3, 5}, Element::f16), u = input(g, "u", {90, 5}, Element::f16), i = input(g, "i", {90}, Element::i32);
  builder(g).output("y", cast(scatter_add(x, i, u, 0), Element::f32).id);
  const KernelSequence p = build_sequence(g, {}, {});
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 11))) CHECK(error < kTolerance);
}

TEST_CASE("fusion scatter_add: formulas before and after it, reductions inside of it") {
  Graph g;
  const Formula x = input(g, "x", {4, 6}), u = input(g, "u", {9, 6}), i = input(g, "i", {9}, Element::i32);
  const Formula y = scatter_add(exp(x), i, tanh(u) * 0.5, 0);
  builder(g).output("direct", y.id);
  builder(g).output("twice", y.id);
  builder(g).output("sum", sum(y, {1}, false).id);
  const Formula e = exp(u - max(u));
  builder(g).output("of softmax", scatter_add(x, i, e / sum(e), 0).id);
  const Formula w = input(g, "w", {6, 6});
  builder(g).output("of product", scatter_add(y, i, Formula{&g, builder(g).matmul(u.id, w.id, Element::f32)}, 0).id);
  builder(g).output("transposed", scatter_add(permute(x, {1, 0}), i, permute(u, {1, 0}), 1).id);
  check(g);
}

TEST_CASE("fusion scatter_add: the gradient of a gather after a gather") {
  Graph g;
  const Formula table = input(g, "table", {3, 8}), i = input(g, "i", {5, 7}, Element::i32);
  const Formula rows{&g, builder(g).gather(table.id, i.id, 0)};
  const Formula zero = broadcast_to(number(g, 0), {3, 8});
  builder(g).output("y", scatter_add(zero, i, rows * 2.0, 0).id);
  check(g, {}, 1);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
