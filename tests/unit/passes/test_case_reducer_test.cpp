// The test-case reducer: the reduced function still fails and is minimal.
#include <doctest/doctest.h>

#include <string>

#include "passes/debug/test_case_reducer.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"
#include "tileir/text/printer.h"
#include "tileir/verifier.h"

using namespace tilewright;

namespace {

constexpr const char* kText = R"(
kernel @k(%x: ptr<const f32>, %z: ptr<f32>, %n: i32, %unused: i64) {
  %0 = arange {lo = 0, hi = 64} : i32[64]
  %1 = broadcast %n : i32[64]
  %2 = lt %0, %1 : i1[64]
  %3 = broadcast %x : ptr<const f32>[64]
  %4 = add_ptr %3, %0 : ptr<const f32>[64]
  %5 = load %4, %2 {cache = streaming} : f32[64]
  %lo = constant {value = 0} : i32
  %step = constant {value = 1} : i32
  %6, %7 = for %lo, %n, %step, %5, %5 : f32[64], f32[64] (%i: i32, %a: f32[64], %b: f32[64]) {
    %8 = sin %a : f32[64]
    %9 = add %8, %b : f32[64]
    yield %9, %a
  }
  %10 = cos %6 : f32[64]
  %11 = broadcast %z : ptr<f32>[64]
  %12 = add_ptr %11, %0 : ptr<f32>[64]
  store %12, %10, %2
  store %12, %7, %2
}
)";

ir::Function function() { return ir::parse(kText, "reduce.tile").functions[0]; }

int count(const ir::Function& f, ir::OpKind kind) {
  int n = 0;
  f.walk([&](ir::OpId id) { n += f.kind(id) == kind; });
  return n;
}

}  // namespace

TEST_CASE("test_case_reducer: what a failure does not need goes") {
  const auto fails = [](const ir::Function& f) { return count(f, ir::OpKind::sin_) > 0 && count(f, ir::OpKind::store_) > 0; };
  const ir::Function small = passes::reduce_test_case(function(), fails);
  CHECK(fails(small));
  CHECK(ir::verify(small).empty());
  CHECK(count(small, ir::OpKind::for_) == 0);
  CHECK(count(small, ir::OpKind::cos_) == 0);
  CHECK(count(small, ir::OpKind::load_) == 0);
  CHECK(count(small, ir::OpKind::store_) == 1);
  REQUIRE(small.params.size() == 1);
  CHECK(small.params[0].name == "z");
}

TEST_CASE("test_case_reducer: a loop that the failure needs stays, with one carried value") {
  const auto fails = [](const ir::Function& f) {
    bool found = false;
    f.walk([&](ir::OpId id) { found |= f.kind(id) == ir::OpKind::for_ && !f.op(id).results.empty(); });
    return found;
  };
  const ir::Function small = passes::reduce_test_case(function(), fails);
  CHECK(ir::verify(small).empty());
  int carried = 0;
  small.walk([&](ir::OpId id) {
    if (small.kind(id) == ir::OpKind::for_) carried = static_cast<int>(small.op(id).results.size());
  });
  CHECK(carried == 1);
}

TEST_CASE("test_case_reducer: a scalar whose value is known becomes a constant") {
  // Only the launch's own bound shows the failure.
  const auto fails = [](const ir::Function& f) {
    bool found = false;
    f.walk([&](ir::OpId id) {
      if (f.kind(id) != ir::OpKind::broadcast_) return;
      const ir::ValueId n = f.operand(id, 0);
      const bool is_parameter = !f.value(n).op && f.params[f.value(n).number].name == "n";
      found |= is_parameter || f.constant_bits(n) == 5u;
    });
    return found && count(f, ir::OpKind::store_) > 0;
  };
  const ir::Function small = passes::reduce_test_case(function(), fails, {.max_attempts = 4000, .scalars = {{"n", 5}}});
  CHECK(fails(small));
  for (const ir::Param& p : small.params) CHECK(p.name != "n");
  const ir::Function unknown = passes::reduce_test_case(function(), fails);
  CHECK(unknown.params[0].name != "x");
  CHECK(unknown.params.size() == 2);
}

TEST_CASE("test_case_reducer: it asks no more often than it may, and returns what failed last") {
  int asked = 0;
  const auto fails = [&](const ir::Function& f) {
    ++asked;
    return count(f, ir::OpKind::store_) > 0;
  };
  const ir::Function small = passes::reduce_test_case(function(), fails, {.max_attempts = 5, .scalars = {}});
  CHECK(asked == 5);
  CHECK(count(small, ir::OpKind::store_) > 0);

  const std::string whole = ir::print(function());
  CHECK(ir::print(passes::reduce_test_case(function(), [](const ir::Function&) { return false; })) == whole);
}

TEST_CASE("test_case_reducer: dead code goes, effects stay") {
  ir::Function f = function();
  passes::remove_dead_code(f);
  CHECK(ir::print(f) == ir::print(function()));
  f.walk([&](ir::OpId id) {
    if (f.kind(id) == ir::OpKind::store_) f.erase(id);
  });
  passes::remove_dead_code(f);
  int ops = 0;
  f.walk([&](ir::OpId) { ++ops; });
  CHECK(ops == 0);
}
