// Warps and tiles of kernels for GPUs: what programs hold fits into registers and shared memory.
#include <doctest/doctest.h>

#include <algorithm>

#include "passes/analysis/register_pressure.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/gpu_targets.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tests/unit/passes/fusion/workloads.h"
#include "tileir/op_kind.h"

namespace tilewright::passes::fusion::test {
namespace {

KernelSequence attention(const ir::TargetDesc& target, const Dim& queries, std::int64_t head, const FusionOptions& options = {}) {
  const auto w = std::find_if(workloads().begin(), workloads().end(), [](const Workload& x) { return x.name == "attention"; });
  REQUIRE(w != workloads().end());
  graph::Graph g;
  Variants plain;
  plain.at = {.batch = 1, .heads = 8, .queries = queries, .keys = 1024, .head = head, .value_head = head};
  w->build(g, plain);
  return build_sequence(g, options, target);
}

// The largest operand of a product, in bytes.
std::int64_t largest_operand(const KernelSequence& p) {
  std::int64_t largest = 0;
  for (const SequenceKernel& k : p.kernels)
    k.function.walk([&](ir::OpId id) {
      if (k.function.kind(id) != ir::OpKind::dot_) return;
      for (int i = 0; i < 2; ++i) {
        const ir::Type t = k.function.type(k.function.operand(id, i));
        largest = std::max(largest, t.elements() * t.element_bits() / 8);
      }
    });
  return largest;
}

TEST_CASE("fusion configuration: programs have as many warps as what they hold needs registers") {
  for (const ir::TargetDesc& target : {kTuring, kAmpere}) {
    CAPTURE(target.name);
    const KernelSequence narrow = attention(target, 1024, 64), wide = attention(target, 1024, 256);
    REQUIRE(narrow.kernels.size() == 1);
    REQUIRE(wide.kernels.size() == 1);
    CHECK(narrow.kernels[0].num_warps == 4);
    CHECK(wide.kernels[0].num_warps == 8);
    CHECK(live_data_words(narrow.kernels[0].function) <= 128 * 255);
    CHECK(live_data_words(wide.kernels[0].function) <= 256 * 132);
  }
}

TEST_CASE("fusion configuration: operands of products fit into shared memory beside those of the next tile") {
  for (const std::int64_t head : {64, 128, 256, 512})
    for (const ir::TargetDesc& target : {kTuring, kAmpere}) {
      CAPTURE(head);
      CAPTURE(target.name);
      CHECK(largest_operand(attention(target, 1024, head)) <= target.shared_bytes / 4);
    }
}

TEST_CASE("fusion configuration: if other rows must not matter, neither the warps nor the tiles depend on their number") {
  const FusionOptions options{.batch_invariant = true};
  for (const std::int64_t head : {64, 256}) {
    CAPTURE(head);
    const KernelSequence few = attention(kAmpere, 2, head, options), many = attention(kAmpere, 1000, head, options);
    REQUIRE(few.kernels.size() == many.kernels.size());
    for (std::size_t i = 0; i < few.kernels.size(); ++i) {
      CHECK(few.kernels[i].num_warps == many.kernels[i].num_warps);
      for (int axis = 0; axis < 3; ++axis)
        for (std::size_t f = 0; f < few.kernels[i].grid[axis].size(); ++f)
          CHECK(few.kernels[i].grid[axis][f].tile == many.kernels[i].grid[axis][f].tile);
    }
  }
}

// Attraction between points in space, which are rows of 3 numbers: vectors run along the points, and a program has several, since all of
// them read the same others.
TEST_CASE("fusion configuration: the vectors of a host do not run along short axes") {
  for (const int bits : {128, 256, 512})
    for (const ir::Element e : {ir::Element::f32, ir::Element::f64})
      for (const bool is_symbolic : {false, true}) {
        CAPTURE(bits);
        CAPTURE(is_symbolic);
        graph::Graph g;
        const Dim n = is_symbolic ? builder(g).dim("n", {}) : Dim(70);
        const Formula p = input(g, "p", {n, 3}, e), m = input(g, "m", {n}, e);
        const Formula d = reshape(p, {1, n, 3}) - reshape(p, {n, 1, 3});
        const Formula squares = reduce(graph::Combine::sum, square(d), {2}, false) + 0.01;
        const Formula s = reshape(m, {1, n}) * rsqrt(squares) / squares;
        builder(g).output("f", reduce(graph::Combine::sum, d * reshape(s, {n, n, 1}), {1}, false).id);
        ir::TargetDesc host;
        host.vector_bits = bits;
        host.processors = 2;
        const KernelSequence program = build_sequence(g, {}, host);
        REQUIRE(program.kernels.size() == 1);
        const SequenceKernel& k = program.kernels[0];
        std::int64_t rows = 0;
        for (const auto& axis : k.grid)
          for (const GridFactor& f : axis) rows = std::max(rows, f.tile);
        // Four numbers fill a vector of 128 bits.
        CHECK(rows >= (bits == 128 ? 1 : 16));
        int computed = 0;
        k.function.walk([&](ir::OpId id) {
          const ir::OpKind kind = k.function.kind(id);
          if (kind != ir::OpKind::rsqrt_ && kind != ir::OpKind::sub_ && kind != ir::OpKind::div_) return;
          const ir::Type t = k.function.type(k.function.result(id));
          if (!t.is_float()) return;
          ++computed;
          CHECK(t.extent(t.rank() - 1) >= (bits == 128 ? 4 : 16));
        });
        CHECK(computed >= 3);
        const std::map<std::string, std::int64_t> symbols =
            is_symbolic ? std::map<std::string, std::int64_t>{{"n", 37}} : std::map<std::string, std::int64_t>{};
        for (const auto& [name, error] : errors_of(g, program, random_arguments(g, symbols, 7))) CHECK(error < 1e-5);
      }
}

}  // namespace
}  // namespace tilewright::passes::fusion::test
