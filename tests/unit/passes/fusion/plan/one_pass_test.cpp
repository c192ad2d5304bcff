// Formulas of models that become one kernel with one pass: at the sizes of models, with symbols, for hosts and for GPUs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/rewrite.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/text/printer.h"

namespace tilewright::passes::fusion::test {
namespace {

constexpr const char* kOnePass[] = {
    "attention", "causal",       "window",      "document",      "alibi",
    "softcap",   "gqa",          "mla",         "sinks",         "dropout_by_counter",
    "decode",    "differential", "rms_product", "gated",         "layer_product",
    "residual",  "amax_product", "norm_amax",   "cross_entropy", "cross_entropy_gradient",
    "entropy",   "variance",     "two_norm",    "lse_pooling",
};

const Workload& workload(const std::string& name) {
  const auto at = std::find_if(workloads().begin(), workloads().end(), [&](const Workload& w) { return w.name == name; });
  REQUIRE(at != workloads().end());
  return *at;
}

Sizes of_models() {
  return {.batch = 2,
          .heads = 32,
          .queries = 2048,
          .keys = 2048,
          .head = 128,
          .value_head = 128,
          .latent = 512,
          .rotary = 64,
          .rows = 4096,
          .inner = 4096,
          .columns = 11008,
          .vocabulary = 32000};
}

ir::TargetDesc gpu() {
  ir::TargetDesc target;
  target.name = "sm_90a";
  target.kind = ir::TargetDesc::Kind::nvptx;
  target.sm = 90;
  target.has_wgmma = true;
  target.processors = 132;
  target.shared_bytes = 232448;
  return target;
}

void check_one_kernel(const graph::Graph& g, const std::vector<ir::TargetDesc>& targets = {ir::TargetDesc{}, gpu()},
                      const FusionOptions& options = {}) {
  for (const ir::TargetDesc& target : targets) {
    CAPTURE(target.name);
    const KernelSequence p = build_sequence(g, options, target);
    std::string plans;
    for (const SequenceKernel& k : p.kernels) plans += k.plan_text + k.reason + "\n";
    CAPTURE(plans);
    CHECK(p.kernels.size() == 1);
    CHECK(p.kernels[0].passes == 1);
    CHECK(p.proof.exact);
    CHECK(p.not_fused.empty());
    CHECK(std::none_of(p.buffers.begin(), p.buffers.end(), [](const SequenceBuffer& b) { return b.kind == BufferKind::intermediate; }));
  }
}

TEST_CASE("one pass: at the sizes of models") {
  for (const char* name : kOnePass) {
    CAPTURE(std::string(name));
    graph::Graph g;
    Variants plain;
    plain.at = of_models();
    workload(name).build(g, plain);
    // Known limit: on GPUs the plan has three kernels. In one pass the squares and the differences about an average so far are two
    // accumulators that each element of queries, keys and columns adds to, and both move at each tile; by the estimate that takes twice as
    // long as scores and exponentials that are stored, and squares about the complete average, which are one accumulator.
    if (std::string_view(name) == "variance")
      check_one_kernel(g, {ir::TargetDesc{}});
    else
      check_one_kernel(g);
  }
}

TEST_CASE("one pass: with rows, queries and keys of any number") {
  for (const char* name : kOnePass) {
    CAPTURE(std::string(name));
    // Its squares vary along queries, keys and columns: few rows fit beside each other, and it is a matter of the sizes whether that pays.
    if (std::string_view(name) == "variance") continue;
    graph::Graph g;
    Variants plain;
    plain.at = of_models();
    plain.at.batch = builder(g).dim("batch", {});
    plain.at.rows = builder(g).dim("rows", {});
    plain.at.queries = builder(g).dim("queries", {});
    plain.at.keys = builder(g).dim("keys", {});
    workload(name).build(g, plain);
    // A loop over few tiles of rows is divided, into two kernels of one pass: not without memory for the states.
    check_one_kernel(g, {ir::TargetDesc{}, gpu()}, {.max_workspace = 0});
  }
}

TEST_CASE("one pass: kernels for GPUs compute their formulas") {
  constexpr double kTolerance = 4e-6;
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    for (const auto& [name, error] : errors_of(g, build_sequence(g, {}, gpu()), random_arguments(g, {}, 3))) {
      CAPTURE(name);
      CHECK(error < kTolerance);
    }
  }
}

// Scores far from 0 and far apart: their exponentials are 1 or nearly 0.
TEST_CASE("one pass: attention with scores of any magnitude") {
  for (const double scale : {1e-6, 1e3, 1e9, 1e12, 1e30}) {
    CAPTURE(scale);
    graph::Graph g;
    const Formula q = input(g, "q", {9, 8}), k = input(g, "k", {53, 8}), v = input(g, "v", {53, 6});
    const Formula s = einsum("qd,kd->qk", {q, k}) * scale, e = exp(s - max(s));
    builder(g).output("o", einsum("qk,ke->qe", {e / sum(e), v}).id);
    for (const ir::TargetDesc& target : {ir::TargetDesc{}, gpu()})
      for (const auto& [name, error] : errors_of(g, build_sequence(g, {}, target), random_arguments(g, {}, 3)))
        // Rounding a score of 1e3 changes its exponential by 1e-4.
        CHECK(error < (scale < 1 || scale > 1e6 ? 1e-5 : 1e-3));
  }
}

std::string text_of(const KernelSequence& p) {
  std::string all;
  for (const SequenceKernel& k : p.kernels) all += ir::print(k.function) + k.plan_text;
  return all;
}

// TILEWRIGHT_REWRITINGS: how many of each formula, beside the default.
TEST_CASE("one pass: rewritings that keep the meaning keep the kernel") {
  const char* wanted = std::getenv("TILEWRIGHT_REWRITINGS");
  const int count = wanted ? std::atoi(wanted) : 20;
  for (const auto precision : {graph::ProductPrecision::standard, graph::ProductPrecision::ieee})
    for (const char* name : kOnePass) {
      CAPTURE(std::string(name));
      CAPTURE(static_cast<int>(precision));
      const auto kernel_text = [&](Variants how) {
        graph::Graph spelled, rewritten;
        workload(name).build(spelled, how);
        rewrite(spelled, rewritten, how, precision);
        return text_of(build_sequence(rewritten, {}, gpu()));
      };
      const std::string want = kernel_text({});
      int differing = 0;
      for (int seed = 0; seed < count; ++seed) {
        Variants random;
        random.seed(static_cast<std::uint64_t>(seed) + 1000);
        const std::string got = kernel_text(random);
        if (got == want) continue;
        if (++differing > 1) continue;
        CAPTURE(seed);
        CAPTURE(want);
        CHECK(got == want);
      }
      CHECK(differing == 0);
    }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
