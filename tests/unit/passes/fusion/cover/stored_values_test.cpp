// Values that are stored are found, and replaced by loads, however deep the formula is around them.
#include "passes/fusion/cover/stored_values.h"

#include <doctest/doctest.h>

#include "passes/fusion/expr/expr_walk.h"
#include "passes/fusion/expr/scans.h"
#include "passes/fusion/expr/stored_tensor.h"
#include "passes/fusion/graph/known_nodes.h"
#include "passes/fusion/sequence/buffers.h"
#include "passes/fusion/sequence/build_sequence.h"
#include "tests/unit/passes/fusion/formula.h"
#include "tests/unit/passes/fusion/run_program.h"
#include "tileir/graph/text/graph_text.h"

namespace tilewright::passes::fusion {
namespace {

using graph::Combine;
using ir::Element;

constexpr int kDepth = 100'000;

struct Fixture {
  ExprPool pool;
  ExprBuilder b{pool};
  ContainedReductions held{b};
  StoredValues values{b, held, [this](Expr v) { return add_stored_tensor(b, v, v->element, "stored " + std::to_string(pool.tensors())); }};
  Axis m = pool.axis("m", 17), k = pool.axis("k", 53), position = pool.axis("i", 53);
  ExprMap stored;

  Expr data(const char* name) {
    TensorInfo info;
    info.name = name;
    info.element = Element::f32;
    info.shape = {m->extent, k->extent};
    info.strides = {k->extent, 1};
    return b.load(pool.add_tensor(std::move(info)), {b.index(m), b.index(k)});
  }
  Expr sines(Expr x) {
    for (int i = 0; i < kDepth; ++i) x = b.function(ir::OpKind::sin_, {x}, x->element);
    return x;
  }
  Expr sum_of(Expr x) { return b.reduce(Combine::sum, {k}, x); }
  Expr running_sum(Expr x) { return b.scan(Combine::sum, k, false, x, b.index(position), Element::f32); }

  // The value has become a load where it stood, and is the only one that is stored.
  void check_stored(Expr root, Expr value, Expr result) {
    REQUIRE(stored.size() == 1);
    CHECK(stored.begin()->first == value);
    CHECK(contains(root, value));
    CHECK(!contains(result, value));
    CHECK(contains(result, stored.begin()->second));
    CHECK(result->height < root->height);
    CHECK(result->height > kDepth);
  }
};

TEST_CASE_FIXTURE(Fixture, "stored values: a reduction below a deep formula") {
  const Expr value = sum_of(data("x")), root = sines(value);
  check_stored(root, value, values.store_reductions(root, StoredValues::Reductions::all, stored));
  stored.clear();
  check_stored(root, value, values.store_outermost(root, stored));
  stored.clear();
  const Axis loop = pool.axis("n", 19);
  check_stored(root, value, values.store_reductions(root, StoredValues::Reductions::of_other_loops, stored, loop));
}

TEST_CASE_FIXTURE(Fixture, "stored values: a reduction deep inside of another one") {
  const Expr value = sum_of(data("x")), other = data("y");
  const Expr root = b.reduce(Combine::max, {k}, b.function(ir::OpKind::atan2_, {sines(value), other}, Element::f32));
  check_stored(root, value, values.store_reductions(root, StoredValues::Reductions::inner, stored));
}

TEST_CASE_FIXTURE(Fixture, "stored values: scans and reductions inside of deep scans") {
  const Expr scan = running_sum(data("x")), around = sines(scan);
  const Expr result = values.store_scans(around, false, stored);
  CHECK(!contains(result, scan));
  CHECK(stored.size() == 1);
  CHECK(stored.count(stored_scan(b, scan)) == 1);
  CHECK(result->height > kDepth);

  stored.clear();
  CHECK(values.store_scans(around, true, stored) == around);
  CHECK(stored.empty());

  const Expr value = sum_of(data("y")), root = running_sum(sines(value));
  check_stored(root, value, values.store_scans(root, true, stored));
}

TEST_CASE_FIXTURE(Fixture, "stored values: the tensor of a state has the name of a node deep inside of its value") {
  graph::Graph g;
  const test::Formula input{&g, test::builder(g).input("x", Element::f32, {17, 53})};
  const KnownNodes known(g);
  SequenceBuffers buffers(g, known);
  const Expr x = data("x");
  pool.note_source(x, input.id);
  CHECK(buffers.name_state(pool, sum_of(sines(x))) == "x_state");
}

// The attention of one query with a softcap, and the logarithm of its sum: the kernel of the scores is chosen for the first output, and the
// second output reads them. Alternatives of the second output sort those of values that it reads.
TEST_CASE("fusion: an output reads what the kernel of an earlier output stores, with any number of processors") {
  const graph::Graph g = graph::parse(R"(graph {
  symbol s
  %q = input : f32[2, 1, 4]
  %k = input : f32[2, s, 4]
  %v = input : f32[2, s, 4]
  %0 = einsum %q, %k {text = "bqd,bsd->bqs"} : f32[2, 1, s]
  %da = input : i32[2, 1]
  %db = input : i32[2, s]
  %1 = reshape %da : i32[2, 1, 1]
  %2 = reshape %db : i32[2, 1, s]
  %3 = eq %1, %2 : i1[2, 1, s]
  %4 = constant {data = [0.0]} : f32
  %5 = constant {data = [-10000.0]} : f32
  %6 = select %3, %4, %5 : f32[2, 1, s]
  %7 = add %0, %6 : f32[2, 1, s]
  %8 = constant {data = [0.1]} : f32
  %9 = mul %7, %8 : f32[2, 1, s]
  %10 = tanh %9 : f32[2, 1, s]
  %11 = constant {data = [10.0]} : f32
  %12 = mul %10, %11 : f32[2, 1, s]
  %13 = reduce %12 {kind = max, axes = [2], keep_dims} : f32[2, 1, 1]
  %14 = sub %12, %13 : f32[2, 1, s]
  %15 = exp %14 : f32[2, 1, s]
  %16 = reduce %15 {kind = sum, axes = [2], keep_dims} : f32[2, 1, 1]
  %17 = div %15, %16 : f32[2, 1, s]
  %18 = einsum %17, %v {text = "bqs,bsd->bqd"} : f32[2, 1, 4]
  %19 = log %16 : f32[2, 1, 1]
  %20 = add %13, %19 : f32[2, 1, 1]
  output "lse" %20
  output "y" %18
})",
                                      "attention");
  for (int processors = 1; processors <= 8; ++processors)
    for (const bool reassociate : {false, true}) {
      CAPTURE(processors);
      CAPTURE(reassociate);
      ir::TargetDesc host;
      host.processors = processors;
      FusionOptions options;
      options.reassociate = reassociate;
      const KernelSequence p = build_sequence(g, options, host);
      CHECK(p.proof.exact);
      for (const auto& [name, error] : test::errors_of(g, p, test::random_arguments(g, {{"s", 37}}, 1))) CHECK_MESSAGE(error < 1e-5, name);
    }
}

// Products of chains are repeated. Where they are stored first, those that the first choice had stored inside of them are stored, too.
TEST_CASE("fusion: a repeated product that reads a stored one is stored after it") {
  const graph::Graph g = graph::parse(R"(graph {
  %x = input : f32[16, 64]
  %w0 = input : f32[64, 64]
  %v0 = einsum %x, %w0 {text = "ik,kj->ij"} : f32[16, 64]
  %v198 = input : f32[16, 64]
  %w222 = input : f32[64, 64]
  %v222 = einsum %v198, %w222 {text = "ik,kj->ij"} : f32[16, 64]
  %v233 = input : f32[16, 64]
  %w238 = input : f32[64, 64]
  %v238 = einsum %v222, %w238 {text = "ik,kj->ij"} : f32[16, 64]
  %w261 = input : f32[64, 64]
  %v261 = einsum %v238, %w261 {text = "ik,kj->ij"} : f32[16, 64]
  %w263 = input : f32[64, 64]
  %v263 = einsum %v233, %w263 {text = "ik,kj->ij"} : f32[16, 64]
  %w273 = input : f32[64, 64]
  %v273 = einsum %v263, %w273 {text = "ik,kj->ij"} : f32[16, 64]
  %w278 = input : f32[64, 64]
  %v278 = einsum %v0, %w278 {text = "ik,kj->ij"} : f32[16, 64]
  %v291 = sub %v278, %v261 : f32[16, 64]
  %w296 = input : f32[64, 64]
  %v296 = einsum %v291, %w296 {text = "ik,kj->ij"} : f32[16, 64]
  %v309 = mul %v273, %v291 : f32[16, 64]
  %v316 = sub %v296, %v0 : f32[16, 64]
  %v340 = sub %v316, %v309 : f32[16, 64]
  %w355 = input : f32[64, 64]
  %v355 = einsum %v309, %w355 {text = "ik,kj->ij"} : f32[16, 64]
  %w412 = input : f32[64, 64]
  %v412 = einsum %v355, %w412 {text = "ik,kj->ij"} : f32[16, 64]
  %v457 = sub %v412, %v340 : f32[16, 64]
  output "y" %v457
})",
                                      "chains");
  for (const int processors : {1, 2, 8})
    for (const int bits : {128, 256, 512}) {
      CAPTURE(processors);
      CAPTURE(bits);
      ir::TargetDesc host;
      host.processors = processors;
      host.vector_bits = bits;
      host.has_fma = host.has_masked_memory = bits > 128;
      const KernelSequence p = build_sequence(g, {}, host);
      for (const auto& [name, error] : test::errors_of(g, p, test::random_arguments(g, {}, 1))) CHECK_MESSAGE(error < 1e-3, name);
    }
}

}  // namespace
}  // namespace tilewright::passes::fusion
