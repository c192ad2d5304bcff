// Plans that their check refutes: another plan, a plan as written, each node by itself, or a CompilerBug. They never run.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "passes/fusion/check/field_check.h"
#include "passes/fusion/emit/emission_failed.h"
#include "passes/fusion/steps.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tilewright/compiler_bug.h"

namespace tilewright::passes::fusion::test {
namespace {

/// Refutes the plans that `is_wrong` names, and counts them.
PlanCheck refuting(const std::function<bool(const LoopPlan&)>& is_wrong, int& refuted) {
  return [&, is_wrong](const ExprBuilder& b, const LoopPlan& p) {
    ProofResult result = check_plan(b, p);
    if (!is_wrong(p)) return result;
    ++refuted;
    result.exact = false;
    result.is_refuted = true;
    result.text = "refuted by the test";
    return result;
  };
}

void check_values(const graph::Graph& g, const KernelSequence& p) {
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 11))) {
    CAPTURE(name);
    CHECK(error < 4e-6);
  }
}

bool is_told(const KernelSequence& p) {
  return std::any_of(p.not_fused.begin(), p.not_fused.end(),
                     [](const std::string& line) { return line.find("refuted by the test") != line.npos; });
}

TEST_CASE("fusion refuted: another plan takes the place of the best one") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    const KernelSequence best = build_sequence(g, {}, {});
    int refuted = 0;
    // The plan that is best without the check.
    const PlanCheck check = refuting([&](const LoopPlan& p) { return p.loop && p.text() == best.kernels[0].plan_text; }, refuted);
    const KernelSequence p = build_sequence(g, {}, {}, check);
    CHECK(refuted > 0);
    for (const SequenceKernel& k : p.kernels) CHECK(k.plan_text != best.kernels[0].plan_text);
    check_values(g, p);
  }
}

TEST_CASE("fusion refuted: without another plan the nodes of the segment run one by one") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    w.build(g, plain);
    int refuted = 0;
    // Whatever holds more than one node: two reductions, or a formula around one.
    const PlanCheck check = refuting(
        [](const LoopPlan& p) {
          return p.reductions.size() > 1 || std::any_of(p.reductions.begin(), p.reductions.end(), [&](const Reduction& r) {
                   return std::none_of(p.outputs.begin(), p.outputs.end(), [&](const KernelOutput& o) { return o.value == r.value; });
                 });
        },
        refuted);
    const KernelSequence p = build_sequence(g, {}, {}, check);
    CHECK(refuted > 0);
    check_values(g, p);
  }
}

// It is stored in the output, which every run writes; nothing computes it before, and nothing copies it.
TEST_CASE("fusion refuted: an output of parameters alone is written once in each run") {
  graph::Graph g;
  const Formula x = input(g, "x", {6, 33}), w{&g, builder(g).input("w", ir::Element::f32, {6, 33}, {}, true)};
  builder(g).output("y", (sum(x * w) * max(x)).id);
  builder(g).output("u", sum(exp(w) * 2.0).id);
  int refuted = 0;
  const KernelSequence p = build_sequence(g, {}, {}, refuting([](const LoopPlan& plan) { return plan.reductions.size() > 1; }, refuted));
  CHECK(refuted > 0);
  CHECK(is_told(p));
  const auto writes_u = [&](const SequenceKernel& k) {
    return std::any_of(k.writes.begin(), k.writes.end(), [&](int b) { return p.buffers[static_cast<std::size_t>(b)].name == "u"; });
  };
  CHECK(std::count_if(p.kernels.begin(), p.kernels.end(), writes_u) == 1);
  CHECK(std::none_of(p.parameter_kernels.begin(), p.parameter_kernels.end(), writes_u));
  check_values(g, p);
}

// As it is written, a product is a function of its factors, and the text of a plan says so.
TEST_CASE("fusion refuted: what is right as written only is fused as written") {
  for (const ir::Element element : {ir::Element::f32, ir::Element::f64, ir::Element::f16})
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      CAPTURE(ir::text(element));
      CAPTURE(target.is_gpu());
      graph::Graph g;
      const Formula x = input(g, "x", {6, 33}, element), w = input(g, "w", {6, 33}, element);
      builder(g).output("y", sum(exp(x * w)).id);
      int refuted = 0;
      const auto is_rewritten = [](const LoopPlan& plan) { return plan.text().find("mul(") == std::string::npos; };
      const KernelSequence p = build_sequence(g, {}, target, refuting(is_rewritten, refuted));
      CHECK(refuted > 0);
      CHECK(p.kernels.size() == 1);
      CHECK(p.proof.exact);
      REQUIRE(!p.not_fused.empty());
      CHECK(p.not_fused.back().starts_with("not rewritten: fused as written (test.cpp:"));
    }
}

TEST_CASE("fusion refuted: a report says why a segment is not fused") {
  graph::Graph g;
  // No strategy stores one of the two reductions.
  const Formula x = input(g, "x", {6, 33});
  builder(g).output("y", (sum(x) * max(x)).id);
  int refuted = 0;
  const KernelSequence p = build_sequence(g, {}, {}, refuting([](const LoopPlan& plan) { return plan.reductions.size() > 1; }, refuted));
  CHECK(refuted > 0);
  CHECK(p.kernels.size() == 3);
  CHECK(is_told(p));
  check_values(g, p);
}

// What a step throws to give up a plan must not leave the compilation, even if no step expects it.
TEST_CASE("fusion refuted: a derivation that fails in another way is divided, or a bug of the compiler") {
  const std::vector<std::function<void()>> failures{[] { throw NoForm("a refusal of the test", {}, {}); }, [] { throw TooManySteps(); },
                                                    [] { throw TileTooLarge(); }, [] { throw ir::RationalOverflow(); }};
  for (const std::function<void()>& fail : failures) {
    graph::Graph g;
    const Formula x = input(g, "x", {6, 33}), e = exp(x - max(x));
    builder(g).output("y", (e / sum(e)).id);
    PlanCheck check = [&](const ExprBuilder& b, const LoopPlan& p) {
      if (p.reductions.size() > 1) fail();
      return check_plan(b, p);
    };
    const KernelSequence p = build_sequence(g, {}, {}, check);
    CHECK(p.kernels.size() > 2);
    CHECK(std::any_of(p.not_fused.begin(), p.not_fused.end(), [](const std::string& l) { return l.find("not fused: ") != l.npos; }));
    check_values(g, p);
    check = [&](const ExprBuilder&, const LoopPlan&) -> ProofResult {
      fail();
      return {};
    };
    CHECK_THROWS_AS(build_sequence(g, {}, {}, check), CompilerBug);
  }
}

TEST_CASE("fusion refuted: what has no plan at all is a bug of the compiler") {
  graph::Graph g;
  const Formula x = input(g, "x", {6, 33});
  builder(g).output("y", sum(exp(x)).id);
  int refuted = 0;
  CHECK_THROWS_AS(build_sequence(g, {}, {}, refuting([](const LoopPlan&) { return true; }, refuted)), CompilerBug);
}

TEST_CASE("fusion refuted: logarithms of ratios have a plan that is right") {
  graph::Graph g;
  const Formula x = exp(input(g, "x", {6, 33})), mean{&g, builder(g).mean(x.id, std::vector<std::int64_t>{-1}, true)};
  builder(g).output("positive", sum(log(x / mean)).id);
  const Formula y = input(g, "y", {6, 33}), m{&g, builder(g).mean(y.id, std::vector<std::int64_t>{-1}, true)};
  builder(g).output("any", sum(log(abs(y / m) + 1.0)).id);
  check_values(g, build_sequence(g, {}, {}));
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
