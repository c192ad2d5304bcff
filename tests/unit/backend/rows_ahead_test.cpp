// Which loads of a loop run down a matrix, so that the addresses of later rows are known.
#include "backend/host/rows_ahead.h"

#include <doctest/doctest.h>

#include <string>

#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

namespace {

bool has_load_that_continues(const std::string& kernel) {
  const ir::Function f = ir::parse(kernel, "test.tile").functions.at(0);
  const passes::AxisInfoAnalysis axes(f);
  const EvaluationPlan plan(f, MemoryAxes{axes, 16, {}});
  bool found = false;
  f.walk([&](OpId id) { found = found || (f.kind(id) == ir::OpKind::load_ && continues_down(f, plan, axes, id)); });
  return found;
}

/// Whether the load in a loop down `step` rows at a time continues. `at` computes %at: i32[8, 32] from the iteration %t, the numbers of the
/// rows %rows: i32[8, 1] and of the columns %columns: i32[8, 32], and the row length %n.
bool continues(const std::string& at, int step = 8) {
  const std::string text = R"(kernel @k(%a: ptr<f32>, %o: ptr<f32> {disjoint}, %n: i32) {
    %i = arange {lo = 0, hi = 8} : i32[8]
    %rows = reshape %i : i32[8, 1]
    %j = arange {lo = 0, hi = 32} : i32[32]
    %row = reshape %j : i32[1, 32]
    %columns = broadcast %row : i32[8, 32]
    %length = broadcast %n : i32[8, 1]
    %base = broadcast %a : ptr<f32>[8, 32]
    %out = broadcast %o : ptr<f32>[8, 32]
    %zero = constant {value = 0} : i32
    %step = constant {value = )" +
                           std::to_string(step) + R"(} : i32
    for %zero, %n, %step (%t: i32) {
)" + at + R"(
      %p = add_ptr %base, %at : ptr<f32>[8, 32]
      %x = load %p : f32[8, 32]
      %q = add_ptr %out, %at : ptr<f32>[8, 32]
      store %q, %x
      yield
    }
  }
)";
  return has_load_that_continues(text);
}

const std::string kIteration = "      %ts = broadcast %t : i32[8, 1]\n";
const std::string kDown = kIteration + R"(      %r = add %ts, %rows : i32[8, 1]
      %first = mul %r, %length : i32[8, 1]
      %firsts = broadcast %first : i32[8, 32]
      %at = add %firsts, %columns : i32[8, 32])";

}  // namespace

TEST_CASE("rows ahead: a loop down a matrix, as many rows at a time as the tile has") {
  CHECK(continues(kDown));
  CHECK(!continues(kDown, 4));
  CHECK(!continues(kDown, 16));
}

TEST_CASE("rows ahead: not a loop along the rows of a tile, or over tiles elsewhere") {
  CHECK(!continues(R"(      %first = mul %rows, %length : i32[8, 1]
      %firsts = broadcast %first : i32[8, 32]
      %ts = broadcast %t : i32[8, 32]
      %here = add %firsts, %columns : i32[8, 32]
      %at = add %here, %ts : i32[8, 32])"));
  // The rows of different iterations are twice as far apart as those of the tile.
  CHECK(!continues(kIteration + R"(      %twice = add %ts, %ts : i32[8, 1]
      %r = add %twice, %rows : i32[8, 1]
      %first = mul %r, %length : i32[8, 1]
      %firsts = broadcast %first : i32[8, 32]
      %at = add %firsts, %columns : i32[8, 32])"));
  CHECK(!continues(kIteration + R"(      %r = add %ts, %rows : i32[8, 1]
      %first = mul %r, %length : i32[8, 1]
      %firsts = broadcast %first : i32[8, 32]
      %tiles = broadcast %t : i32[8, 32]
      %right = add %columns, %tiles : i32[8, 32]
      %at = add %firsts, %right : i32[8, 32])"));
}

TEST_CASE("rows ahead: a loop along a vector") {
  const auto continues_along = [](const char* at) {
    const std::string text = std::string(R"(kernel @k(%a: ptr<f32>, %o: ptr<f32> {disjoint}, %n: i64) {
    %i = arange {lo = 0, hi = 32} : i32[32]
    %j = cast %i : i64[32]
    %base = broadcast %a : ptr<f32>[32]
    %out = broadcast %o : ptr<f32>[32]
    %zero = constant {value = 0} : i64
    %step = constant {value = 32} : i64
    for %zero, %n, %step (%t: i64) {
      %ts = broadcast %t : i64[32]
      %here = add %ts, %j : i64[32]
      )") + at + R"(
      %p = add_ptr %base, %at : ptr<f32>[32]
      %x = load %p : f32[32]
      %q = add_ptr %out, %at : ptr<f32>[32]
      store %q, %x
      yield
    }
  })";
    return has_load_that_continues(text);
  };
  CHECK(continues_along("%at = add %here, %j : i64[32]") == false);
  CHECK(continues_along("%two = constant {value = 2} : i64[32]\n %at = mul %here, %two : i64[32]"));
}

}  // namespace tilewright::backend::host
