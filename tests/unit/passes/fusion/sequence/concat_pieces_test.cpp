// Concatenations of products, which the kernels of the pieces write in place.
#include "passes/fusion/graph/concat_pieces.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/unit/passes/fusion/formula.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"

namespace tilewright::passes::fusion::test {
namespace {

using ir::Element;

void output(const std::string& name, Formula f) { builder(*f.graph).output(name, f.id); }

Formula product(Formula a, Formula b) { return einsum("ij,jk->ik", {a, b}); }

KernelSequence check(const graph::Graph& g, const std::map<std::string, std::int64_t>& symbols = {}, const ir::TargetDesc& target = {}) {
  KernelSequence p = build_sequence(g, {}, target);
  CHECK(p.proof.exact);
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, symbols, 5))) {
    CAPTURE(name);
    CHECK(error < 1e-5);
  }
  return p;
}

std::vector<SequenceKernel> writers(const KernelSequence& p, const std::string& name) {
  std::vector<SequenceKernel> all;
  for (const SequenceKernel& k : p.kernels)
    if (std::any_of(k.writes.begin(), k.writes.end(), [&](int b) { return p.buffers[static_cast<std::size_t>(b)].name == name; }))
      all.push_back(k);
  return all;
}

// Operations of a kernel of which the extents are constants.
double flops(const KernelSequence& p) {
  double all = 0;
  for (const SequenceKernel& k : p.kernels)
    for (const FlopCount& c : k.flops) {
      double count = c.each;
      for (const Dim& d : c.space) count *= static_cast<double>(d.value());
      all += count;
    }
  return all;
}

TEST_CASE("fusion pieces: each product is computed once, at its place, along any axis") {
  for (const int axis : {0, 1, 2})
    for (const ir::TargetDesc& target : {ir::TargetDesc(), kAmpere}) {
      CAPTURE(axis);
      graph::Graph g;
      std::vector<Formula> all;
      double want = 0;
      for (int i = 0; i < 3; ++i) {
        graph::TensorShape a{4, 10, 24}, b{4, 24, 12};
        if (axis == 0) a[0] = b[0] = 3 + i;
        if (axis == 1) a[1] = 8 + 2 * i;
        if (axis == 2) b[2] = 7 + 4 * i;
        all.push_back(einsum("bij,bjk->bik", {input(g, "a" + std::to_string(i), a), input(g, "b" + std::to_string(i), b)}));
        want += 2.0 * static_cast<double>((a[0] * a[1] * a[2] * b[2]).value());
      }
      output("y", concat(all, axis));
      const KernelSequence p = check(g, {}, target);
      CHECK(p.kernels.size() == 3);
      CHECK(writers(p, "y").size() == 3);
      CHECK(flops(p) == want);
      for (const SequenceKernel& k : p.kernels) CHECK(k.parts.size() == 1);
    }
}

TEST_CASE("fusion pieces: extents may be symbols, and 0") {
  graph::Graph g;
  const Dim n = builder(g).dim("n", {.min = 0}), m = builder(g).dim("m", {.min = 0});
  const Formula x = input(g, "x", {n, 12}), z = input(g, "z", {m, 12}), w = input(g, "w", {12, 9}), row = input(g, "row", {0, 9});
  output("rows", concat({product(x, w), row, product(z, w), product(x, w) * 2.0}, 0));
  const Formula a = input(g, "a", {5, 8}), b = input(g, "b", {8, n}), c = input(g, "c", {8, m});
  output("columns", concat({product(a, b), product(a, c)}, 1));
  for (const std::int64_t size : {0, 1, 6})
    for (const std::int64_t other : {0, 5}) check(g, {{"n", size}, {"m", other}});
}

TEST_CASE("fusion pieces: inputs, element-wise pieces and pieces that occur twice have their places, too") {
  graph::Graph g;
  const Formula x = input(g, "x", {6, 20}), w = input(g, "w", {20, 20}), z = input(g, "z", {6, 5});
  const Formula p = product(x, w);
  output("y", concat({z, p, p, tanh(p) * 0.5, slice(x, 1, 3, 9), pad(z, 1, 2, 1), broadcast_to(sum(x), {6, 4})}, 1));
  output("p", p);
  check(g);
}

TEST_CASE("fusion pieces: what two pieces need of one product is one kernel") {
  graph::Graph g;
  const Formula h = product(input(g, "x", {16, 24}), input(g, "w", {24, 20})), cos = input(g, "cos", {16, 10}),
                sin = input(g, "sin", {16, 10});
  const Formula first = slice(h, 1, 0, 10), second = slice(h, 1, 10, 20);
  output("y", concat({first * cos - second * sin, first * sin + second * cos}, 1));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 1);
  REQUIRE(p.kernels[0].parts.size() == 1);
  CHECK(p.kernels[0].parts.begin()->second == Dim(16 * 20));
}

TEST_CASE("fusion pieces: pieces of nested concatenations are written at once") {
  graph::Graph g;
  const Formula x = input(g, "x", {6, 12}), w = input(g, "w", {12, 5}), z = input(g, "z", {6, 10});
  const Formula row = concat({product(x, w), z, product(x * 2.0, w)}, 1);
  output("y", concat({concat({z, z}, 1), row, concat({exp(z), exp(z) * 0.5}, 1)}, 0));
  const KernelSequence p = check(g);
  CHECK(writers(p, "y").size() == p.kernels.size());
}

TEST_CASE("fusion pieces: outputs with one value are each written") {
  graph::Graph g;
  const Formula y =
      concat({product(input(g, "a", {7, 12}), input(g, "u", {12, 5})), product(input(g, "b", {9, 12}), input(g, "v", {12, 5}))}, 0);
  output("y", y);
  output("again", y);
  check(g);
}

TEST_CASE("fusion pieces: a concatenation of products inside of a formula is stored in place") {
  graph::Graph g;
  const Formula x = input(g, "x", {32, 24});
  std::vector<Formula> branches;
  for (int i = 0; i < 3; ++i) branches.push_back(maximum(product(x, input(g, "w" + std::to_string(i), {24, 10})), number(g, 0)));
  const Formula y = concat(branches, 1);
  SUBCASE("that a product reads along the pieces") { output("z", product(y, input(g, "v", {30, 8}))); }
  SUBCASE("that a product reads beside the pieces") { output("z", product(input(g, "v", {8, 32}), y)); }
  SUBCASE("that views read") {
    output("z", product(slice(y, 1, 4, 24), input(g, "v", {20, 8})));
    output("padded", pad(y, 1, 1, 2));
  }
  SUBCASE("that is an output, too") {
    output("y", y);
    output("z", product(y, input(g, "v", {30, 8})));
  }
  const KernelSequence p = check(g);
  std::set<int> in_parts;
  for (const SequenceKernel& k : p.kernels)
    for (const auto& [b, elements] : k.parts) in_parts.insert(b);
  CHECK(in_parts.size() == 1);
  CHECK(p.kernels.size() <= 5);
}

// Scores and logits are never stored, and neither are keys of which most are in memory.
TEST_CASE("fusion pieces: what is reduced along the pieces is not stored") {
  graph::Graph g;
  const Formula q = input(g, "q", {32, 16}), k = input(g, "k", {64, 16}), v = input(g, "v", {65, 16}), x = input(g, "x", {1, 16});
  SUBCASE("scores") {
    const Formula scores = concat({einsum("id,jd->ij", {q, k}), einsum("id,jd->ij", {q, x})}, 1);
    const Formula e = exp(scores - max(scores));
    output("y", product(e / sum(e), v));
  }
  SUBCASE("a cache of keys") {
    const Formula keys = concat({k, product(x, input(g, "w", {16, 16}))}, 0);
    const Formula scores = einsum("id,jd->ij", {q, keys}), e = exp(scores - max(scores));
    output("y", product(e / sum(e), v));
  }
  for (const SequenceKernel& kernel : check(g).kernels) CHECK(kernel.parts.empty());
}

TEST_CASE("fusion pieces: concatenations of what is computed element by element are one kernel") {
  graph::Graph g;
  const Formula x = input(g, "x", {16, 20}), z = input(g, "z", {16, 20});
  output("y", concat({exp(x), z}, 1));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 1);
  CHECK(p.kernels[0].parts.empty());
}

TEST_CASE("fusion pieces: equal blocks have their kernels in common") {
  graph::Graph g;
  Formula x = input(g, "x", {16, 20});
  for (int i = 0; i < 3; ++i) {
    const auto weight = [&](const char* name) { return input(g, name + std::to_string(i), {20, 10}); };
    x = concat({product(x, weight("u")), tanh(product(x, weight("v")))}, 1);
  }
  output("y", x);
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 3);  // both products of a block read the same elements
  CHECK(p.kernels[1].like == 0);
  for (const SequenceKernel& k : p.kernels) {
    REQUIRE(k.parts.size() == 1);
    CHECK(k.parts.begin()->first == k.writes[0]);
  }
}

// More operands than one kernel chooses between: each has a segment of its own, and alike ones have one kernel.
TEST_CASE("fusion pieces: each of many products is computed at its place") {
  graph::Graph g;
  const Formula x = input(g, "x", {16, 24});
  std::vector<Formula> experts;
  for (int i = 0; i < 9; ++i) experts.push_back(tanh(product(x, input(g, "w" + std::to_string(i), {24, 20}))));
  SUBCASE("") {}
  SUBCASE("one of which is an output, and stored there") { output("first", experts[0]); }
  const bool has_output = !g.outputs().empty();
  output("y", concat(experts, 1));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == (has_output ? 10 : 9));
  CHECK(std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }) == (has_output ? 3 : 1));
}

// As one segment, it would be cut where its values are smallest, which is not between the heads.
TEST_CASE("fusion pieces: pieces that are too large for one segment are derived apart") {
  graph::Graph g;
  std::vector<Formula> heads;
  for (int i = 0; i < 7; ++i) {
    const auto own = [&](const char* name) { return input(g, name + std::to_string(i), {12, 8}); };
    const Formula scores = einsum("id,jd->ij", {own("q"), own("k")}), e = exp(scores - max(scores));
    heads.push_back(product(e / sum(e), own("v")));
  }
  output("y", product(concat(heads, 1), input(g, "w", {56, 10})));
  const KernelSequence p = check(g);
  CHECK(p.kernels.size() == 8);
  CHECK(std::count_if(p.kernels.begin(), p.kernels.end(), [](const SequenceKernel& k) { return k.like < 0; }) == 2);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
