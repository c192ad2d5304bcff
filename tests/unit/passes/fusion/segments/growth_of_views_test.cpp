// The work of derivations as chains of views, concatenations and slices grow: counted in steps and kernels, not in seconds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "passes/fusion/thresholds.h"
#include "passes/fusion/translate/divided_positions.h"
#include "tests/unit/passes/fusion/families.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"

namespace tilewright::passes::fusion::test {
namespace {

const Family& family(const std::string& name) {
  return *std::find_if(families().begin(), families().end(), [&](const Family& f) { return f.name == name; });
}

std::size_t own_kernels(const KernelSequence& p) {
  return static_cast<std::size_t>(std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }));
}

void check_values(const graph::Graph& g, const KernelSequence& p) {
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) {
    CAPTURE(name);
    CHECK(error < 1e-5);
  }
}

TEST_CASE("fusion growth: chains of reshapes and of rotations are cut, so that no kernel grows with the chain") {
  for (const char* name : {"reshapes", "rotations"})
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      CAPTURE(name);
      CAPTURE(target.is_gpu());
      const auto longest = [&](int steps) {
        graph::Graph g;
        family(name).build(g, steps);
        const KernelSequence p = build_sequence(g, {}, target);
        check_values(g, p);
        std::size_t most = 0;
        for (const SequenceKernel& k : p.kernels) most = std::max(most, k.function.op_capacity());
        return most;
      };
      CHECK(longest(120) <= 1.1 * static_cast<double>(longest(40)));
    }
}

TEST_CASE("fusion growth: a report says which reshapes divide too many positions") {
  graph::Graph g;
  family("reshapes").build(g, 40);
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(std::any_of(p.not_fused.begin(), p.not_fused.end(), [](const std::string& line) {
    return line.find("is stored, because more than 8 reshapes in a row divide positions") != line.npos;
  }));
  // Axes that have parts in common are not divided, however long the chain is.
  graph::Graph parts;
  Formula x = input(parts, "x", {64, 32});
  for (int i = 0; i < 12; ++i) x = reshape(permute(reshape(x, {8, 8, 32}), {1, 0, 2}), {64, 32});
  builder(parts).output("y", x.id);
  CHECK(build_sequence(parts, {}, {}).not_fused.empty());
}

TEST_CASE("fusion growth: axes of many views are found in one walk that does not recurse") {
  graph::Graph g;
  family("reshapes").build(g, 10000);
  const graph::NodeId last = g.outputs()[0].node;
  const AxisAnalysis axes(g, {last}, {});
  CHECK(axes.nodes().size() > 20000);
  const std::set<graph::NodeId> stored = values_between_divisions(g, axes, [](graph::NodeId) { return true; });
  CHECK(stored.size() > 500);
}

TEST_CASE("fusion growth: an operand that does not share axes leaves no trace in the axes of others") {
  graph::Graph g;
  const Formula x = input(g, "x", {12, 10}), flat = reshape(x, {120});
  const Formula other = reshape(input(g, "z", {8, 15}), {120});  // 120 is 12 10 and 8 15
  const Formula y = flat + other, z = y * 2.0;
  const AxisAnalysis axes(g, {z.id}, {});
  CHECK(axes.is_detached({y.id, 1}));
  CHECK(!axes.is_detached({y.id, 0}));
  REQUIRE(axes.atoms(z.id).size() == 1);
  CHECK(axes.atoms(z.id)[0] == axes.atoms(flat.id)[0]);
  CHECK(axes.atoms(z.id)[0].size() == 2);
  CHECK(axes.atoms(other.id)[0].size() == 2);
}

TEST_CASE("fusion growth: rows that are added one by one are written once, each by a kernel for all rows of one size") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    CAPTURE(target.is_gpu());
    graph::Graph g;
    family("rows_added").build(g, 200);
    const KernelSequence p = build_sequence(g, {}, target);
    check_values(g, p);
    CHECK(p.kernels.size() == 201);
    CHECK(own_kernels(p) == 5);
    for (const SequenceKernel& k : p.kernels) CHECK(k.reads.size() == 1);
  }
}

TEST_CASE("fusion growth: parts of a concatenation that differ in numbers have one kernel") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    CAPTURE(target.is_gpu());
    graph::Graph g;
    family("scaled_rows").build(g, 100);
    const KernelSequence p = build_sequence(g, {}, target);
    check_values(g, p);
    CHECK(p.kernels.size() == 100);
    CHECK(own_kernels(p) == 1);
  }
}

TEST_CASE("fusion growth: functions of many slices of one tensor have one kernel, and those of few rows are derived together") {
  for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
    CAPTURE(target.is_gpu());
    const auto sequence = [&](int slices, int rows) {
      graph::Graph g;
      const Formula x = input(g, "x", {rows * slices, 32});
      for (int i = 0; i < slices; ++i) builder(g).output("y" + std::to_string(i), exp(slice(x, 0, rows * i, rows * (i + 1))).id);
      KernelSequence p = build_sequence(g, {}, target);
      check_values(g, p);
      return p;
    };
    const KernelSequence many = sequence(100, 8);
    CHECK(many.kernels.size() == 100);
    CHECK(own_kernels(many) == 1);
    CHECK(sequence(4, 1).kernels.size() == 1);
  }
}

TEST_CASE("fusion growth: elements picked by turns along two axes, of which each has the index of the one before twice") {
  const auto longest_text = [](int steps) {
    graph::Graph g;
    Formula x = input(g, "x", {8, 64});
    const Formula index = input(g, "index", {8, 64}, ir::Element::i32);
    for (int i = 0; i < steps; ++i) x = take_along(x, index, i % 2);
    builder(g).output("y", x.id);
    const KernelSequence p = build_sequence(g, {}, {});
    CHECK(p.proof.exact);
    std::size_t most = 0;
    for (const SequenceKernel& k : p.kernels) most = std::max(most, k.plan_text.size());
    return most;
  };
  CHECK(longest_text(80) <= 2.2 * static_cast<double>(longest_text(40)));
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
