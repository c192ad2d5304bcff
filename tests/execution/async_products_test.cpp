// Products by asynchronous matrix instructions on the emulated Hopper, and on one where there is one: tiles, orders of factors in memory,
// warps, loops and chains. The emulator finds races and accesses of registers in flight.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <functional>

#include "backend/compile.h"
#include "passes/pass_manager.h"
#include "tests/execution/distribute.h"
#include "tests/execution/machines.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::test {

using namespace ir;

namespace {

constexpr const char* kHopper = "sm_90a";

struct Shape {
  std::int64_t m, n, k;
  int warps = 4;
};

Type matrix(Element e, std::int64_t rows, std::int64_t columns) {
  const std::int64_t shape[] = {rows, columns};
  return Type(e, shape);
}

/// The factor as it is loaded, or the transposed one of what is loaded.
ValueId factor(SequenceBuilder& s, Element e, std::int64_t rows, std::int64_t columns, bool is_transposed) {
  const std::int64_t swap[] = {1, 0};
  return is_transposed ? s.ir().permute(s.small_input(matrix(e, columns, rows)), swap) : s.small_input(matrix(e, rows, columns));
}

ValueId product(SequenceBuilder& s, ValueId a, ValueId b, ValueId acc) {
  const ValueId operands[] = {a, b, acc};
  return s.ir().function().result(s.ir().create(OpKind::dot_, operands));
}

/// The number of wgmma in the machine code of one product.
int check_product(const Shape& p, Element e, bool left_is_transposed = false, bool right_is_transposed = false) {
  CAPTURE(p.m);
  CAPTURE(p.n);
  CAPTURE(p.k);
  CAPTURE(p.warps);
  CAPTURE(left_is_transposed);
  CAPTURE(right_is_transposed);
  SequenceBuilder s("product");
  const ValueId a = factor(s, e, p.m, p.k, left_is_transposed), b = factor(s, e, p.k, p.n, right_is_transposed);
  s.output(product(s, a, b, s.small_input(matrix(e == Element::i8 ? Element::i32 : Element::f32, p.m, p.n))));
  return count(check_on_emulator(s.take(), p.warps, kHopper).ptx, "wgmma.mma_async");
}

/// "base[row * pitch + column]" for 64 x 32 or 32 x 64 elements.
std::string pointers(const char* base, const char* row, const char* column, const char* shape) {
  return fmt::format(R"(
    %{0}r = mul {1}, %p{0} : i32{3}
    %{0}o = add %{0}r, {2} : i32{3}
    %{0}b = broadcast %{0} : ptr<const f16>{3}
    %{0}p = add_ptr %{0}b, %{0}o : ptr<const f16>{3})",
                     base, row, column, shape);
}

/// c = a b: 64 x K by K x 64, 32 of K in an iteration. Rows of a and columns of b are rows or columns in memory, 256 elements apart.
/// is_aligned: K is a multiple of 16, so that cp.async can copy the tiles; others go through registers.
std::string loop_text(int stages, bool is_aligned, bool left_is_transposed, bool right_is_transposed) {
  std::string text = R"(
kernel @product(%a: ptr<const f16> {divisible_by = 16}, %b: ptr<const f16> {divisible_by = 16}, %c: ptr<f32>, %K: i32)";
  text += is_aligned ? " {divisible_by = 16}) {" : ") {";
  text += R"(
  %zero = constant {value = 0} : i32
  %step = constant {value = 32} : i32
  %none = constant {value = 0.0} : f32[64, 64]
  %i1 = arange {lo = 0, hi = 64} : i32[64]
  %k1 = arange {lo = 0, hi = 32} : i32[32]
  %ic = reshape %i1 : i32[64, 1]
  %i = broadcast %ic : i32[64, 32]
  %kr = reshape %k1 : i32[1, 32]
  %k = broadcast %kr : i32[64, 32]
  %kc = reshape %k1 : i32[32, 1]
  %l = broadcast %kc : i32[32, 64]
  %jr = reshape %i1 : i32[1, 64]
  %j = broadcast %jr : i32[32, 64]
  %pa = constant {value = 256} : i32[64, 32]
  %pb = constant {value = 256} : i32[32, 64]
  %Ka = broadcast %K : i32[64, 32]
  %Kb = broadcast %K : i32[32, 64])";
  text += fmt::format("\n  %sums = for %zero, %K, %step, %none {{num_stages = {}}} : f32[64, 64] (%at: i32, %acc: f32[64, 64]) {{", stages);
  text += R"(
    %ata = broadcast %at : i32[64, 32]
    %atb = broadcast %at : i32[32, 64]
    %ka = add %k, %ata : i32[64, 32]
    %kb = add %l, %atb : i32[32, 64]
    %ma = lt %ka, %Ka : i1[64, 32]
    %mb = lt %kb, %Kb : i1[32, 64])";
  text += left_is_transposed ? pointers("a", "%ka", "%i", "[64, 32]") : pointers("a", "%i", "%ka", "[64, 32]");
  text += right_is_transposed ? pointers("b", "%j", "%kb", "[32, 64]") : pointers("b", "%kb", "%j", "[32, 64]");
  return text + R"(
    %x = load %ap, %ma : f16[64, 32]
    %y = load %bp, %mb : f16[32, 64]
    %d = dot %x, %y, %acc : f32[64, 64]
    yield %d
  }
  %ri = broadcast %ic : i32[64, 64]
  %rj = broadcast %jr : i32[64, 64]
  %pitch = constant {value = 64} : i32[64, 64]
  %ro = mul %ri, %pitch : i32[64, 64]
  %o = add %ro, %rj : i32[64, 64]
  %cb = broadcast %c : ptr<f32>[64, 64]
  %cp = add_ptr %cb, %o : ptr<f32>[64, 64]
  store %cp, %sums
})";
}

fuzz::Argument buffer(Element e, std::size_t elements) {
  fuzz::Argument a;
  a.is_buffer = true;
  a.element = e;
  a.bytes.resize(elements * static_cast<std::size_t>(bytes(e)));
  return a;
}

/// Small numbers, whose products and sums are exact.
fuzz::Argument small_halves(std::size_t elements) {
  constexpr std::uint16_t kSmall[] = {0, 0x3c00, 0x4000, 0xbc00, 0x4200, 0xc000, 0x3800};  // 0, 1, 2, -1, 3, -2, 0.5
  fuzz::Argument a = buffer(Element::f16, elements);
  for (std::size_t i = 0; i < elements; ++i) std::memcpy(&a.bytes[2 * i], &kSmall[(i * 5 + i / 13) % std::size(kSmall)], 2);
  return a;
}

fuzz::Program loop_program(int stages, int k, bool left_is_transposed, bool right_is_transposed) {
  constexpr std::size_t kMost = 256 * 256;
  fuzz::Program p;
  p.function = parse(loop_text(stages, k % 16 == 0, left_is_transposed, right_is_transposed), "loop.tile").functions.at(0);
  p.arguments = {small_halves(kMost), small_halves(kMost), buffer(Element::f32, 64 * 64), {}};
  p.arguments[3].word = static_cast<std::uint64_t>(k);
  return p;
}

}  // namespace

TEST_CASE("asynchronous products: tiles of every shape") {
  CHECK(check_product({64, 16, 16}, Element::f16) == 1);
  CHECK(check_product({64, 32, 32}, Element::bf16) == 2);
  CHECK(check_product({64, 64, 64}, Element::f16) == 4);
  CHECK(check_product({64, 256, 32}, Element::f16) == 2);
  CHECK(check_product({128, 128, 16}, Element::bf16) == 2);        // two groups of rows of one group of warps
  CHECK(check_product({128, 64, 128}, Element::f16, true) == 16);  // two slabs along K
  CHECK(check_product({128, 128, 32, 8}, Element::f16) == 2);      // groups of warps share the rows
  CHECK(check_product({64, 128, 32, 8}, Element::f16) == 2);       // or the columns
  CHECK(check_product({256, 128, 16, 16}, Element::f16) == 1);
}

TEST_CASE("asynchronous products: factors in either order in memory") {
  for (const bool left : {false, true})
    for (const bool right : {false, true})
      for (const Shape& p : {Shape{64, 32, 16}, Shape{128, 128, 64, 8}, Shape{64, 128, 64, 8}})
        CHECK(check_product(p, Element::f16, left, right) > 0);
}

TEST_CASE("asynchronous products: bytes in either order in memory") {
  CHECK(check_product({64, 16, 32}, Element::i8, false, true) == 1);
  CHECK(check_product({128, 64, 128}, Element::i8, false, true) == 8);
  CHECK(check_product({128, 256, 64, 8}, Element::i8, false, true) == 2);
  CHECK(check_product({64, 128, 64, 8}, Element::i8, false, true) == 2);
  // Others are transposed.
  for (const Element e : {Element::i8, Element::f8e4m3, Element::f8e5m2})
    for (const bool left : {false, true})
      for (const bool right : {false, true})
        for (const Shape& p : {Shape{64, 32, 32}, Shape{64, 64, 64}, Shape{128, 64, 128}, Shape{128, 128, 64, 8}, Shape{128, 128, 128, 8},
                               Shape{64, 128, 32, 8}})
          CHECK(check_product(p, e, left, right) > 0);
  // 16 bytes are no row of a buffer: threads write the other rows byte by byte.
  CHECK(check_product({64, 16, 32}, Element::i8, false, false) == 1);
}

TEST_CASE("asynchronous products: what they do not take keeps synchronous instructions") {
  CHECK(check_product({32, 64, 64}, Element::f16) == 0);        // too few rows
  CHECK(check_product({64, 8, 64}, Element::f16) == 0);         // columns
  CHECK(check_product({64, 64, 8}, Element::f16) == 0);         // summands
  CHECK(check_product({64, 64, 64, 2}, Element::f16) == 0);     // warps
  CHECK(check_product({64, 64, 64, 8}, Element::f16) == 0);     // columns of two groups
  CHECK(check_product({64, 64, 16}, Element::f32) == 0);        // truncated factors
  CHECK(check_product({128, 256, 16}, Element::f16) == 0);      // registers for the accumulator
  CHECK(check_product({256, 256, 16, 16}, Element::f16) == 0);  // of 16 warps
  // fp8 has two accumulators, and no synchronous instruction: its factors are cast to f16, of which K takes two.
  CHECK(check_product({128, 128, 32, 8}, Element::f8e4m3) == 1);
  CHECK(check_product({128, 256, 32, 8}, Element::f8e4m3) == 2);
  CHECK(check_product({128, 64, 512, 8}, Element::f16) == 0);  // shared memory
}

TEST_CASE("asynchronous products: the result is the first factor of the next product, in registers") {
  for (const int warps : {4, 8}) {
    SequenceBuilder s("chain");
    const ValueId q = factor(s, Element::f16, 128, 32, false), k = factor(s, Element::f16, 32, 64, true),
                  v = factor(s, Element::f16, 64, 32, false);
    const ValueId scores = product(s, q, k, s.ir().constant(matrix(Element::f32, 128, 64), 0));
    const ValueId small = s.ir().binary(OpKind::minimum_, scores, s.ir().constant(matrix(Element::f32, 128, 64), 7));
    const ValueId weights =
        s.ir().cast(s.ir().binary(OpKind::maximum_, small, s.ir().constant(matrix(Element::f32, 128, 64), -7)), Element::f16);
    s.output(product(s, weights, v, s.ir().constant(matrix(Element::f32, 128, 32), 0)));
    const Emitted code = check_on_emulator(s.take(), warps, kHopper);
    CHECK(count(code.ptx, "wgmma.mma_async") > 0);
    CHECK(count(code.ptx, "mma.sync") == 0);
    // The weights are not written to shared memory.
    CHECK(count(code.ptx, "}, {%r") > 0);
  }
}

TEST_CASE("asynchronous products: loops carry them on, in any number of iterations and stages") {
  for (const int stages : {1, 2, 3, 5})
    for (const int k : {0, 1, 32, 90, 208}) {
      CAPTURE(stages);
      CAPTURE(k);
      const Emitted code = check_on_emulator(loop_program(stages, k, false, true), 4, kHopper);
      CHECK(count(code.ptx, "wgmma.wait_group.sync.aligned 1;") == (stages > 1 ? 1 : 0));
      CHECK(count(code.ptx, "wgmma.wait_group.sync.aligned 0;") == 1);
    }
}

TEST_CASE("asynchronous products: each wait, fence and commit of a loop is needed, and the interpreter says so") {
  const fuzz::Program p = loop_program(3, 208, false, true);
  const TargetDesc target = backend::describe_target(kHopper);
  Function f = p.function;
  auto names = passes::pipeline(target);
  std::erase(names, "use_tma");  // threads copy the factors; tensor_boxes_test.cpp has bulk copies
  passes::run_passes(f, names, {target, true, false, 4});
  std::vector<std::function<void(Function&)>> mutants;
  f.walk([&](OpId id) {
    const OpKind k = f.kind(id);
    if (k != OpKind::mma_wait_ && k != OpKind::async_wait_ && k != OpKind::async_commit_ && k != OpKind::proxy_fence_) return;
    mutants.push_back([id](Function& m) {
      const std::vector<ValueId> results = m.op(id).results;
      for (std::size_t i = 0; i < results.size(); ++i) m.replace_uses(results[i], m.operand(id, static_cast<int>(i)));
      m.erase(id);
    });
    if (f.has_attr(id, AttrName::pending))
      mutants.push_back([id](Function& m) { m.set_attr(id, {AttrName::pending, m.attr(id, AttrName::pending) + 1, {}, {}}); });
  });
  CHECK(mutants.size() == 10);
  for (std::size_t i = 0; i < mutants.size(); ++i) {
    CAPTURE(i);
    fuzz::InterpreterExecutor reference(target.reduction);
    fuzz::RewritingExecutor mutant("mutant", [&](Function& m) {
      m = f;
      mutants[i](m);
    });
    const auto difference = fuzz::compare(p, reference, mutant);
    REQUIRE(difference.has_value());
    CHECK_MESSAGE(difference->find("error: ") != std::string::npos, *difference);
  }
}

TEST_CASE("asynchronous products: loops over factors in either order in memory") {
  for (const bool left : {false, true})
    for (const bool right : {false, true})
      for (const int k : {90, 96}) check_on_emulator(loop_program(3, k, left, right), 4, kHopper);
}

}  // namespace tilewright::test
