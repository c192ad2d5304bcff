// Kernels whose work is divided among the multiprocessors of a GPU, and kernels that are small enough for one of them.
#include <doctest/doctest.h>

#include "passes/fusion/cover/cost.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/plan/best_plan.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "passes/fusion/thresholds.h"
#include "tests/unit/passes/fusion/derive.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tileir/target/machine_facts.h"

namespace tilewright::passes::fusion::test {
namespace {

double programs_of(const SequenceKernel& k) {
  double programs = 1;
  for (const auto& dimension : k.grid)
    for (const GridFactor& f : dimension) programs *= std::ceil(estimated_extent(f.extent) / static_cast<double>(f.tile));
  return programs;
}

// The bytes of the f32 buffers that a kernel reads.
double bytes_read(const KernelSequence& p, const SequenceKernel& k) {
  double bytes = 0;
  for (int b : k.reads) {
    double elements = 1;
    for (const Dim& d : p.buffers[static_cast<std::size_t>(b)].shape) elements *= estimated_extent(d);
    bytes += 4 * elements;
  }
  return bytes;
}

// A row, its norm, a gate of two products, and a product of that.
void gated_row(graph::Graph& g, int model, int hidden) {
  const Formula x = input(g, "x", {1, model}), w = input(g, "w", {model, hidden}), u = input(g, "u", {model, hidden}),
                v = input(g, "v", {hidden, model});
  const Formula n = x * rsqrt(sum(square(x)) / static_cast<double>(model) + 1e-6);
  const Formula gate = einsum("rk,kf->rf", {n, w}), up = einsum("rk,kf->rf", {n, u});
  builder(g).output("y", (x + einsum("rf,fn->rn", {gate / (1.0 + exp(-gate)) * up, v})).id);
}

TEST_CASE("fusion cost: one multiprocessor takes its own time for a kernel of one program") {
  Derived d;
  builder(*d.graph).output("y", sum(input(*d.graph, "x", {30000}), {0}, false).id);
  translate_outputs(d);
  const LoopPlan plan = best_plan(*d.exprs, d.outputs);
  const KernelCost c = estimate(plan, choose_tiling(*d.exprs, plan, kHopper, {}), *d.exprs, kHopper);
  REQUIRE(c.programs * c.parts == 1);
  CHECK(c.seconds > c.read_bytes / ir::machine_facts(kHopper).cache_bytes);
}

TEST_CASE("fusion cover: a row times large matrices is divided, times small ones it is one program's") {
  for (const ir::TargetDesc& target : {kTuring, kAmpere, kHopper}) {
    CAPTURE(target.name);
    graph::Graph large, small;
    gated_row(large, 1024, 4096);
    const KernelSequence divided = build_sequence(large, {}, target);
    for (const SequenceKernel& k : divided.kernels) {
      CAPTURE(k.name);
      CAPTURE(k.reason);
      CAPTURE(programs_of(k));
      const bool merges = k.reason.starts_with("merges");
      CHECK((merges || 4 * programs_of(k) >= target.processors || bytes_read(divided, k) < 1 << 19));
    }
    gated_row(small, 16, 40);
    const KernelSequence p = build_sequence(small, {}, target);
    CHECK(p.kernels.size() == 1);
    CHECK(programs_of(p.kernels[0]) == 1);
  }
}

TEST_CASE("fusion cover: the sum of a large array is two kernels, of a small one it is one") {
  for (const ir::TargetDesc& target : {kTuring, kAmpere, kHopper}) {
    CAPTURE(target.name);
    for (const graph::TensorShape& shape : {graph::TensorShape{1 << 22}, {2048, 2048}, {64, 256, 256}, {4, 1 << 20}, {1 << 20, 4}}) {
      CAPTURE(shape.size());
      CAPTURE(shape[0].value());
      graph::Graph g;
      Formula x = input(g, "x", shape);
      std::vector<std::int64_t> all(shape.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
      builder(g).output("y", sum(x, all, false).id);
      const KernelSequence p = build_sequence(g, {}, target);
      CHECK(p.kernels.size() == 2);
      CHECK(programs_of(p.kernels[0]) >= 16);
    }
    graph::Graph g;
    builder(g).output("y", sum(input(g, "x", {8, 64}), {0, 1}, false).id);
    CHECK(build_sequence(g, {}, target).kernels.size() == 1);
  }
}

// (k k)' v, a sum of all products of two matrices, and a row times a matrix.
std::vector<graph::Graph> divided_graphs() {
  std::vector<graph::Graph> all(3);
  const Formula k = input(all[0], "k", {2048, 64}), v = input(all[0], "v", {2048, 64});
  builder(all[0]).output("y", einsum("kd,ke->de", {k * k, v}).id);
  const Formula a = input(all[1], "a", {512, 512}), b = input(all[1], "b", {512, 512});
  builder(all[1]).output("y", sum(a * permute(b, {1, 0}), {0, 1}, false).id);
  builder(all[2]).output("y", einsum("k,kn->n", {input(all[2], "x", {4096}), input(all[2], "w", {4096, 256})}).id);
  return all;
}

TEST_CASE("fusion cover: a GPU divides a loop into as many parts as take the least time, their merge included") {
  for (const ir::TargetDesc& target : {kAmpere, kHopper})
    for (const graph::Graph& g : divided_graphs()) {
      CAPTURE(target.name);
      Derived d;
      *d.graph = g;
      translate_outputs(d);
      const LoopPlan plan = best_plan(*d.exprs, d.outputs);
      Tiling tiling = choose_tiling(*d.exprs, plan, target, {});
      const KernelCost chosen = estimate(plan, tiling, *d.exprs, target);
      CAPTURE(chosen.parts);
      CHECK(chosen.programs * chosen.parts >= 16);
      const double bytes = chosen.read_bytes / chosen.programs;
      for (const std::int64_t other : {tiling.split.parts / 2, tiling.split.parts * 2}) {
        if (bytes / static_cast<double>(other) < kLeastBytesOfPart || chosen.programs * static_cast<double>(other) > target.processors)
          continue;
        CAPTURE(other);
        Tiling changed = tiling;
        changed.split.parts = other;
        CHECK(estimate(plan, changed, *d.exprs, target).seconds > 0.98 * chosen.seconds);
      }
    }
}

// Each program of one kernel would compute all of each reduction over all axes for its own part of the result.
TEST_CASE("fusion cover: a host's programs divide reductions of large results instead of repeating them") {
  using Make = Formula (*)(Formula x);
  const auto all = [](graph::Combine kind, Formula x) { return reduce(kind, x, {0, 1}, true); };
  static const auto kAll = all;
  const std::pair<std::string, Make> formulas[] = {
      {"range",
       [](Formula x) { return (x - kAll(graph::Combine::min, x)) / (kAll(graph::Combine::max, x) - kAll(graph::Combine::min, x)); }},
      {"softmax",
       [](Formula x) {
         const Formula e = exp(x - kAll(graph::Combine::max, x));
         return e / kAll(graph::Combine::sum, e);
       }},
      {"logarithm",
       [](Formula x) {
         const Formula d = x - kAll(graph::Combine::max, x);
         return d - log(kAll(graph::Combine::sum, exp(d)));
       }},
      {"share", [](Formula x) { return permute(x, {1, 0}) / permute(kAll(graph::Combine::sum, x), {1, 0}); }},
      {"centred", [](Formula x) { return x - kAll(graph::Combine::sum, x) / 1e6; }},
  };
  for (const int processors : {2, 4, 16})
    for (const auto& [name, make] : formulas) {
      CAPTURE(name);
      CAPTURE(processors);
      ir::TargetDesc host;
      host.processors = processors;
      graph::Graph large, small;
      builder(large).output("y", make(input(large, "x", {1500, 1200})).id);
      const KernelSequence p = build_sequence(large, {}, host);
      CHECK(p.kernels.size() >= 2);
      CHECK(programs_of(p.kernels.back()) >= processors);
      for (const SequenceKernel& k : p.kernels) {
        CAPTURE(k.name);
        CHECK((programs_of(k) > 1 || bytes_read(p, k) < 1 << 16));
      }
      builder(small).output("y", make(input(small, "x", {16, 24})).id);
      CHECK(build_sequence(small, {}, host).kernels.size() == 1);
    }
}

TEST_CASE("fusion cover: each thread of a host gets rows of a product, also where the last tile has few of them") {
  for (const int processors : {3, 4}) {
    CAPTURE(processors);
    ir::TargetDesc host;
    host.processors = processors;
    graph::Graph g;
    const Formula x = input(g, "x", {90, 64}), w = input(g, "w", {1000, 64});
    const Formula logits{&g, builder(g).matmul(x.id, permute(w, {1, 0}).id, ir::Element::f32)};
    builder(g).output("y", (max(logits) + log(sum(exp(logits - max(logits))))).id);
    const KernelSequence p = build_sequence(g, {}, host);
    // In tiles of 64 rows, one of three threads would have nothing to do, and the logits would rather be stored.
    REQUIRE(p.kernels.size() == 1);
    CHECK(programs_of(p.kernels[0]) == 3);
  }
}

// The axis of the result is not an axis of its reductions: the result joins two tensors, each of which has reductions of its own, or is
// computed from another tensor.
TEST_CASE("fusion cover: programs of one part of a result do not repeat the reductions of all of it") {
  ir::TargetDesc host;
  host.processors = 2;
  for (const ir::TargetDesc& target : {host, kAmpere, kHopper})
    for (const int axis : {0, 1})
      for (const bool joins : {true, false}) {
        if (axis == 1 && !joins) continue;  // a program of one row has all of the result's axis
        CAPTURE(target.name);
        CAPTURE(axis);
        CAPTURE(joins);
        graph::Graph g;
        const Formula x = input(g, "x", {1000, 512}), y = input(g, "y", {axis == 0 ? 500 : 1000, axis == 0 ? 512 : 256});
        const Formula z = joins ? concat({x, y}, axis) : y;
        builder(g).output("z", (z / sqrt(sum(square(joins ? z : x), {axis}) + 1e-3)).id);
        const KernelSequence p = build_sequence(g, {}, target);
        CHECK(p.kernels.size() == (joins ? 3 : 2));
        CHECK(programs_of(p.kernels.back()) > 100);
        CHECK(p.kernels.back().loop.axis.empty());
      }
}

TEST_CASE("fusion cover: one query over a long cache is divided, over a short one it is not") {
  for (const ir::TargetDesc& target : {kTuring, kAmpere, kHopper}) {
    CAPTURE(target.name);
    for (const int keys : {64, 65536}) {
      CAPTURE(keys);
      graph::Graph g;
      const Formula q = input(g, "q", {8, 1, 64}), k = input(g, "k", {8, keys, 64}), v = input(g, "v", {8, keys, 64});
      const Formula s = einsum("hqd,hkd->hqk", {q, k}) * 0.125, e = exp(s - max(s));
      builder(g).output("y", einsum("hqk,hkd->hqd", {e / sum(e), v}).id);
      const KernelSequence p = build_sequence(g, {}, target);
      CHECK(p.kernels.size() == (keys == 64 ? 1 : 2));
      if (keys > 64) CHECK(programs_of(p.kernels[0]) >= target.processors / 2);
    }
  }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
