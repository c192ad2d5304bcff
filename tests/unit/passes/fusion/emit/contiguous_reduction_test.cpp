// The axis of a tile that a reduction removes: the one whose elements are not adjacent in memory.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion::test {
namespace {

/// The axes of the reductions of tiles of rank 2.
std::vector<std::int64_t> reduced_axes(const KernelSequence& p) {
  std::vector<std::int64_t> axes;
  for (const SequenceKernel& k : p.kernels)
    k.function.walk([&](ir::OpId op) {
      if (k.function.kind(op) == ir::OpKind::reduce_ && k.function.type(k.function.op(op).operands[0]).rank() == 2)
        axes.push_back(k.function.attr(op, ir::AttrName::axis));
    });
  return axes;
}

void check(const char* equation, std::vector<Dim> w_shape, std::int64_t axis) {
  CAPTURE(equation);
  graph::Graph g;
  const Formula x = input(g, "x", {1, 200}), w = input(g, "w", std::move(w_shape));
  builder(g).output("y", einsum(equation, {x, w}).id);
  const KernelSequence p = build_sequence(g, {}, {});
  const std::vector<std::int64_t> axes = reduced_axes(p);
  CHECK_FALSE(axes.empty());
  CHECK(std::all_of(axes.begin(), axes.end(), [&](std::int64_t a) { return a == axis; }));
  for (const auto& [name, error] : errors_of(g, p, random_arguments(g, {}, 3))) CHECK(error < 2e-6);
}

TEST_CASE("fusion emit: a product of one row goes through the matrix row by row") {
  check("mk,kn->mn", {200, 300}, 0);
  check("mk,nk->mn", {300, 200}, 1);
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
