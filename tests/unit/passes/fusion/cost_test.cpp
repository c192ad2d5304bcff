// Estimates of kernels count what programs do.
#include <doctest/doctest.h>

#include <algorithm>

#include "passes/fusion/cost.h"
#include "passes/fusion/cover.h"
#include "tests/unit/passes/fusion/derive.h"

namespace tilewright::passes::fusion::test {
namespace {

Derived derived(const std::string& name, const Sizes& sizes) {
  const auto w = std::find_if(workloads().begin(), workloads().end(), [&](const Workload& x) { return x.name == name; });
  REQUIRE(w != workloads().end());
  Variants plain;
  plain.at = sizes;
  return derive(*w, plain);
}

TEST_CASE("fusion cost: attention reads its operands once, and counts products and exponentials") {
  constexpr double kHeads = 8, kLength = 1024, kDim = 64;
  Derived d = derived("attention", {.batch = 1, .heads = 8, .queries = 1024, .keys = 1024, .head = 64, .value_head = 64});
  const std::vector<CoveredKernel> kernels = cover(*d.exprs, d.outputs, {});
  REQUIRE(kernels.size() == 1);
  const KernelCost c = estimate(kernels[0].plan, *d.exprs, {});
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

}  // namespace
}  // namespace tilewright::passes::fusion::test
