// Concatenations of many operands, which are written operand by operand.
#include "passes/fusion/sequence/joined_part.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"

namespace tilewright::passes::fusion::test {
namespace {

using ir::Element;

constexpr int kOperands = 9;  // a host writes so many one by one

void output(const std::string& name, Formula f) { builder(*f.graph).output(name, f.id); }

KernelSequence check(const graph::Graph& g, const std::map<std::string, std::int64_t>& symbols = {}, double tolerance = 2e-6) {
  const KernelSequence p = build_sequence(g, {}, {});
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, symbols, 5))) {
    CAPTURE(name);
    CHECK(error < tolerance);
  }
  return p;
}

// Kernels with code of their own.
std::size_t codes(const std::vector<SequenceKernel>& kernels) {
  return static_cast<std::size_t>(std::count_if(kernels.begin(), kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }));
}

std::vector<Formula> inputs(graph::Graph& g, const graph::TensorShape& shape, Element e = Element::f32, int count = kOperands) {
  std::vector<Formula> all;
  for (int i = 0; i < count; ++i) all.push_back(input(g, "x" + std::to_string(i), shape, e));
  return all;
}

TEST_CASE("fusion joined: operands that are alike have one kernel, and write to their own places") {
  for (const Element e : {Element::f32, Element::f64, Element::f16, Element::i32, Element::u8})
    for (const int axis : {0, 1, 2}) {
      CAPTURE(ir::text(e));
      CAPTURE(axis);
      graph::Graph g;
      output("y", concat(inputs(g, {3, 5, 18}, e), axis));
      const KernelSequence p = check(g);
      CHECK(p.kernels.size() == kOperands);
      CHECK(codes(p.kernels) == 1);
      std::set<std::string> begins;
      for (const SequenceKernel& k : p.kernels)
        for (const KernelArgument& a : k.arguments)
          if (a.is_begin) begins.insert(a.extent.text());
      CHECK(begins.size() == kOperands);
    }
}

TEST_CASE("fusion joined: an input has the name of the argument") {
  for (const char* name : {"begin", "begin of part"}) {
    CAPTURE(name);
    graph::Graph g;
    std::vector<Formula> all = inputs(g, {3, 5}, Element::f32, kOperands - 1);
    all.push_back(input(g, name, {3, 5}, Element::f32));
    output("y", concat(all, 0));
    check(g);
  }
}

TEST_CASE("fusion joined: extents may be symbols, and 0") {
  graph::Graph g;
  const Dim n = builder(g).dim("n", {.min = 0}), m = builder(g).dim("m", {.min = 0});
  std::vector<Formula> all;
  for (int i = 0; i < 12; ++i) all.push_back(input(g, "x" + std::to_string(i), {i % 3 == 0 ? n : i % 3 == 1 ? m : Dim(i % 4), 7}));
  output("y", concat(all, 0));
  for (const std::int64_t size : {0, 1, 6})
    for (const std::int64_t other : {0, 5}) check(g, {{"n", size}, {"m", other}});
}

TEST_CASE("fusion joined: operands may be any formulas") {
  graph::Graph g;
  const Formula x = input(g, "x", {6, 20}), z = input(g, "z", {20, 6}), w = input(g, "w", {6, 6});
  std::vector<Formula> all{x,
                           x,
                           x * 2.0 + 1.0,
                           permute(z, {1, 0}),
                           x - max(x),
                           einsum("ij,jk->ik", {w, x}),
                           slice(x, 1, 3, 9),
                           broadcast_to(sum(x), {6, 4}),
                           pad(x, 1, 2, 1),
                           number(g, 0.5),
                           concat({x, x * 0.25}, 1)};
  all[9] = broadcast_to(all[9], {6, 3});
  const Formula whole = concat(all, 1);
  output("y", whole);
  output("again", whole);
  output("after", exp(whole * 0.125) + sum(whole));
  check(g);
}

// The whole is complete before a run, as each weight is.
TEST_CASE("fusion joined: a concatenation of parameters is written when a parameter is given") {
  graph::Graph g;
  std::vector<Formula> weights;
  for (int i = 0; i < kOperands; ++i) weights.push_back({&g, builder(g).input("w" + std::to_string(i), Element::f32, {16, 17}, {}, true)});
  const Formula whole = concat(weights, 1);
  output("y", einsum("ij,jk->ik", {input(g, "x", {5, 16}), whole}));
  CHECK(check(g).parameter_kernels.size() == kOperands);
  output("w", whole);
  const KernelSequence p = check(g);
  CHECK(p.parameter_kernels.size() == kOperands);
  CHECK(p.kernels.size() == 2);
}

TEST_CASE("fusion joined: one of a few operands, or of short rows, is one kernel") {
  const auto kernels = [](int operands, const graph::TensorShape& shape, std::int64_t axis, const ir::TargetDesc& target) {
    graph::Graph g;
    output("y", concat(inputs(g, shape, Element::f32, operands), axis));
    return build_sequence(g, {}, target).kernels.size();
  };
  const ir::TargetDesc host, gpu = kAmpere;
  CHECK(kernels(8, {16, 20}, 1, host) == 1);
  CHECK(kernels(9, {16, 20}, 1, host) == 9);
  CHECK(kernels(32, {16, 5}, 1, host) == 1);
  CHECK(kernels(33, {16, 5}, 1, host) == 33);
  CHECK(kernels(9, {16, 5}, 0, host) == 9);
  CHECK(kernels(32, {16, 20}, 0, gpu) == 1);
  CHECK(kernels(33, {16, 20}, 0, gpu) == 33);
}

// In nested concatenations, the inner one is stored; otherwise there would be an operand for each pair.
TEST_CASE("fusion joined: concatenations of concatenations take as many kernels as they have operands") {
  graph::Graph g;
  const Formula x = input(g, "x", {4, 18}), z = input(g, "z", {4, 18});
  std::vector<Formula> inner, outer;
  for (int i = 0; i < 12; ++i) inner.push_back(i % 2 == 0 ? x : z);
  const Formula a = concat(inner, 1);
  for (int i = 0; i < 12; ++i) outer.push_back(i % 2 == 0 ? a + 1.0 : a);
  output("y", concat(outer, 1));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 24);
  CHECK(codes(p.kernels) == 3);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
