// Reports of kernels: the nodes that they cover, the alternatives that were considered, and choices that depend on bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "passes/fusion/cover/strategies.h"
#include "passes/fusion/expr/extents.h"
#include "passes/fusion/plan/loop_plan.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"

namespace tilewright::passes::fusion::test {
namespace {

void output(const std::string& name, Formula f) { builder(*f.graph).output(name, f.id); }
ir::TargetDesc host() {
  ir::TargetDesc target;
  target.processors = 2;
  return target;
}

TEST_CASE("fusion report: a kernel covers what became part of other values in normal form") {
  graph::Graph g;
  const Formula x = input(g, "x", {8, 16});
  output("y", sum((x * 2.0 + 1.0) * 3.0));
  const KernelSequence p = build_sequence(g, {}, {});
  REQUIRE(p.kernels.size() == 1);
  CHECK(p.kernels[0].covers.size() == 4);
}

TEST_CASE("fusion report: a scan that another one reads is named after its own function") {
  graph::Graph g;
  const Formula x = input(g, "x", {600, 600});
  graph::GraphBuilder b = builder(g);
  const graph::NodeId inner = b.scan(graph::Combine::sum, x.id, 0, false);
  b.output("y", b.scan(graph::Combine::sum, inner, 1, false));
  const KernelSequence p = build_sequence(g, {}, host());
  REQUIRE(p.kernels.size() == 2);
  CHECK(p.kernels[0].covers == std::vector<graph::NodeId>{inner});
  const SequenceBuffer& stored = p.buffers[static_cast<std::size_t>(p.kernels[0].writes.at(0))];
  CHECK(stored.source == inner);
  CHECK(stored.contents == BufferContents::value);
  CHECK(stored.name == "cumsum");
}

TEST_CASE("fusion report: labels of axes whose positions are walked once more") {
  CHECK(label_again("n") == "n'");
  CHECK(label_again(label_again("n")) == "n''");
  std::string label = "axis 0 of x";
  for (const char* expected : {"axis 0 of x (again)", "axis 0 of x (again, 2)", "axis 0 of x (again, 3)"})
    CHECK((label = label_again(label)) == expected);
}

TEST_CASE("fusion report: a kernel covers nothing that another one computes") {
  for (const Workload& w : workloads()) {
    CAPTURE(w.name);
    graph::Graph g;
    Variants plain;
    plain.at = {
        .batch = 2, .heads = 4, .queries = 65, .keys = 530, .head = 64, .value_head = 64, .rows = 1, .inner = 1024, .columns = 1024};
    w.build(g, plain);
    const KernelSequence p = build_sequence(g, {}, host());
    for (const SequenceKernel& k : p.kernels) {
      for (int b : k.reads) {
        const graph::NodeId read = p.buffers[static_cast<std::size_t>(b)].node;
        CHECK(std::find(k.covers.begin(), k.covers.end(), read) == k.covers.end());
      }
    }
  }
}

// The names of the tables, and that of merged kernels.
bool is_strategy(const std::string& name) {
  if (name == "one kernel in place of two" || name == "one kernel in place of several") return true;
  for (const Strategy& s : strategies())
    for (const Refinement& r : refinements())
      if (name == std::string(s.name) + (r.name.empty() ? "" : ", " + std::string(r.name))) return true;
  return false;
}

TEST_CASE("fusion report: the strategy has a name of the table; the next best one is slower, or stores more") {
  constexpr std::string_view kStrategy = "\nstrategy: ", kNext = "\nnext best: ";
  constexpr const char* kTimes = " times as long";
  int compared = 0;
  for (const Workload& w : workloads())
    for (const std::int64_t rows : {1, 64, 4096}) {
      CAPTURE(w.name);
      graph::Graph g;
      Variants plain;
      plain.at = {
          .queries = rows, .keys = 1024, .head = 64, .value_head = 64, .rows = rows, .inner = 1024, .columns = 1024, .vocabulary = 4096};
      w.build(g, plain);
      for (const SequenceKernel& k : build_sequence(g, {}, host()).kernels) {
        const std::size_t at = k.estimate.find(kTimes);
        if (at == k.estimate.npos) continue;
        CAPTURE(k.estimate);
        const std::size_t strategy = k.estimate.find(kStrategy), next = k.estimate.find(kNext);
        REQUIRE(strategy < next);
        REQUIRE(next != k.estimate.npos);
        CHECK(is_strategy(k.estimate.substr(strategy + kStrategy.size(), next - strategy - kStrategy.size())));
        const std::size_t open = k.estimate.rfind(" (");
        CHECK((open < next || open == k.estimate.npos || is_strategy(k.estimate.substr(open + 2, k.estimate.rfind(')') - open - 2))));
        const double ratio = std::strtod(k.estimate.c_str() + k.estimate.rfind(' ', at - 1), nullptr);
        CHECK((ratio >= 1 || k.estimate.find(", which is too little to store values for") != k.estimate.npos));
        ++compared;
      }
    }
  CHECK(compared > 10);
}

TEST_CASE("fusion report: estimates are for one value of each symbol") {
  const auto table = std::make_shared<SymbolTable>();
  const Dim n = table->add("n", {}, {}), m = table->add("m", {.min = 0, .max = 100}, {}),
            k = table->add("k", {.min = 1, .multiple_of = 48}, {}), far = table->add("far", {.min = 5000}, {});
  CHECK(estimated_extent(n) == 1024);
  CHECK(estimated_extent(n * 2) == 2048);
  CHECK(estimated_extent(n + m) == 1124);
  CHECK(estimated_extent(k) == 1056);
  CHECK(estimated_extent(far) == 5000);
  CHECK(estimated_extent(m) == 100);
  CHECK(typical_value((*table)[2].bounds) == 1056);
}

TEST_CASE("fusion configuration: a host's tile is along the axis of which most is read") {
  graph::Graph g;
  const Formula x = input(g, "x", {64, 128}), w = input(g, "w", {100, 128, 256}), index = input(g, "index", {64}, ir::Element::i32);
  output("y", einsum("nd,ndh->nh", {x, {&g, builder(g).gather(w.id, index.id, 0)}}));
  const KernelSequence p = build_sequence(g, {}, host());
  REQUIRE(p.kernels.size() == 1);
  std::int64_t along_rows = 0, along_columns = 0;
  for (const auto& axis : p.kernels[0].grid)
    for (const GridFactor& f : axis) (f.extent == Dim(64) ? along_rows : along_columns) = f.tile;
  CHECK(along_rows <= 1);
  CHECK(along_columns >= 64);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
