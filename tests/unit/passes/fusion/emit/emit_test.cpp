// Kernels that are emitted from plans compute what the formulas say.
#include <doctest/doctest.h>

#include <algorithm>

#include "passes/fusion/tiles/choose_tiles.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr double kTolerance = 2e-6;

TEST_CASE("fusion emit: kernels compute their formulas, in one tile and in loops") {
  for (const Workload& w : workloads())
    for (const std::int64_t loop : {0, 4, 16}) {  // 0: as chosen
      CAPTURE(w.name);
      CAPTURE(loop);
      Variants plain;
      Derived d = derive(w, plain);
      const LoopPlan plan = plan_of(d);
      TileSizes sizes = choose_tiles(plan, *d.exprs, {});
      if (loop != 0) sizes.loop = loop;
      for (const auto& [name, error] : errors_of(d, plan, sizes, 7)) {
        CAPTURE(name);
        CHECK(error < kTolerance);
      }
    }
}

// With tiles of 4, the 53 positions of most loops are 14 tiles: of 8 parts the last one is empty, of 16 the last nine are empty. The shift
// of a difference is a position, which the program rounds to a narrow type; the parts of the loop store it.
TEST_CASE("fusion emit: a reference that is rounded to a narrow type") {
  for (const ir::Element narrow : {ir::Element::f16, ir::Element::bf16})
    for (const bool move_rounding : {true, false}) {
      CAPTURE(ir::text(narrow));
      CAPTURE(move_rounding);
      graph::Graph g;
      const Dim n = builder(g).dim("n", {});
      const Formula x = einsum("ik,kj->ij", {input(g, "a", {1, n}, narrow), input(g, "b", {n, n}, narrow)});
      const Formula at = cast(reduce(graph::Combine::argmin, x, {-1}, true), narrow);
      builder(g).output("y", sum(square(x + at)).id);
      FusionOptions options;
      options.move_rounding = move_rounding;
      const KernelSequence p = build_sequence(g, options, kAmpere);
      CHECK(errors_of(g, p, random_arguments(g, {{"n", 21}}, 7)).at("y") < 3e-2);
    }
}

// A thread of a host keeps the right operand of a product while rows alone change. What the operands are called does not matter.
TEST_CASE("fusion emit: on hosts programs of a product that follow each other have the same columns") {
  for (const std::string left : {"a", "x"}) {
    CAPTURE(left);
    Derived d;
    graph::Graph& g = *d.graph;
    builder(g).output("y", einsum("rk,kn->rn", {input(g, left, {300, 64}), input(g, "w", {64, 500})}).id);
    translate_outputs(d);
    const LoopPlan plan = plan_of(d);
    const EmittedKernel kernel = emit_kernel("y", *d.exprs, plan, choose_tiles(plan, *d.exprs, {}));
    REQUIRE(kernel.grid[0].size() == 1);
    REQUIRE(kernel.grid[1].size() == 1);
    CHECK(kernel.grid[0][0].extent == Dim(300));
    CHECK(kernel.grid[1][0].extent == Dim(500));
  }
}

TEST_CASE("fusion emit: ops have the line of the function that they compute") {
  Derived d;
  graph::Graph& g = *d.graph;
  const Formula table = input(g, "table", {9, 4}), index = input(g, "index", {5}, ir::Element::i32);
  const Formula rows{&g, builder(g).gather(table.id, index.id, 0)}, y = exp(rows);
  builder(g).output("y", y.id);
  translate_outputs(d);
  const LoopPlan plan = plan_of(d);
  const EmittedKernel k = emit_kernel("kernel", *d.exprs, plan, choose_tiles(plan, *d.exprs, {}));
  std::map<ir::OpKind, std::vector<int>> lines;
  for (const ir::OpId op : k.function.ops(k.function.body()))
    if (ir::info(k.function.kind(op)).family == ir::Family::memory || k.function.kind(op) == ir::OpKind::exp_)
      lines[k.function.kind(op)].push_back(k.function.where(op).line);
  const int gathered = g.node(rows.id).where.line, computed = g.node(y.id).where.line;
  CHECK(lines[ir::OpKind::load_] == std::vector{gathered, gathered});
  CHECK(lines[ir::OpKind::exp_] == std::vector{computed});
  CHECK(lines[ir::OpKind::store_] == std::vector{computed});
}

TEST_CASE("fusion emit: loops in parts compute the same formulas") {
  int count = 0;
  for (const Workload& w : workloads())
    for (const std::int64_t parts : {2, 8, 16}) {
      CAPTURE(w.name);
      CAPTURE(parts);
      Variants plain;
      Derived d = derive(w, plain);
      const LoopPlan plan = plan_of(d);
      if (!can_split(plan)) continue;
      ++count;
      TileSizes sizes = choose_tiles(plan, *d.exprs, {});
      sizes.loop = 4;
      for (const auto& [name, error] : errors_of(d, plan, sizes, 7, parts)) {
        CAPTURE(name);
        CHECK(error < kTolerance);
      }
    }
  CHECK(count >= 60);
}

TEST_CASE("fusion emit: causal masks and windows bound the loop") {
  for (const char* name : {"causal", "window", "attention"}) {
    CAPTURE(name);
    Variants plain;
    const auto w = std::find_if(workloads().begin(), workloads().end(), [&](const Workload& x) { return x.name == name; });
    Derived d = derive(*w, plain);
    const LoopPlan plan = plan_of(d);
    TileSizes sizes = choose_tiles(plan, *d.exprs, {});
    sizes.loop = 4;
    const EmittedKernel k = emit_kernel("kernel", *d.exprs, plan, sizes);
    bool has_minimum = false, has_maximum = false;
    k.function.walk([&](ir::OpId op) {
      const bool is_scalar = k.function.op(op).parent == k.function.body() && !k.function.op(op).results.empty() &&
                             k.function.type(k.function.result(op)).is_scalar();
      has_minimum = has_minimum || (is_scalar && k.function.kind(op) == ir::OpKind::minimum_);
      has_maximum = has_maximum || (is_scalar && k.function.kind(op) == ir::OpKind::maximum_);
    });
    CHECK(has_minimum == (std::string(name) != "attention"));
    CHECK(has_maximum == (std::string(name) == "window"));
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
