// Checks which tiles of the loops of a host are kept in registers.
#include "backend/host/register_tiles.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "backend/host/evaluation_plan.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

namespace {

/// The number of classes in registers of a plan for a processor with vectors of `lanes` lanes.
int tiles_in_registers(const std::string& text, int lanes = 16) {
  const ir::Function f = ir::parse(text, "test.tile").functions.at(0);
  const passes::AxisInfoAnalysis info(f);
  const EvaluationPlan plan(f, MemoryAxes{info, lanes});
  std::set<ClassId> classes;
  const auto visit = [&](ValueId v) {
    if (plan.has_buffer(v) && plan.in_registers(plan.class_of(v))) classes.insert(plan.class_of(v));
  };
  f.walk([&](OpId id) {
    for (ValueId r : f.op(id).results) visit(r);
  });
  return static_cast<int>(classes.size());
}

/// Sums of rows by the columns of x, `bk` at a time; `in_loop` may use the sums %n: f32[bm, bk].
std::string matvec(int bm, int bk, const std::string& in_loop = "") {
  std::string text = R"(kernel @sums(%a: ptr<const f32>, %x: ptr<const f32>, %y: ptr<f32>, %k: i32) {
    %z = constant {value = 0} : i32
    %s = constant {value = COLUMNS} : i32
    %init = constant {value = 0.0} : f32[ROWS, COLUMNS]
    %i = arange {lo = 0, hi = ROWS} : i32[ROWS]
    %kb = broadcast %k : i32[ROWS]
    %first = mul %i, %kb : i32[ROWS]
    %fr = reshape %first : i32[ROWS, 1]
    %fb = broadcast %fr : i32[ROWS, COLUMNS]
    %j = arange {lo = 0, hi = COLUMNS} : i32[COLUMNS]
    %ab = broadcast %a : ptr<const f32>[ROWS, COLUMNS]
    %xb = broadcast %x : ptr<const f32>[COLUMNS]
    %sums = for %z, %k, %s, %init : f32[ROWS, COLUMNS] (%c: i32, %acc: f32[ROWS, COLUMNS]) {
      %cb = broadcast %c : i32[COLUMNS]
      %cj = add %cb, %j : i32[COLUMNS]
      %xp = add_ptr %xb, %cj : ptr<const f32>[COLUMNS]
      %u = load %xp : f32[COLUMNS]
      %cr = reshape %cj : i32[1, COLUMNS]
      %cc = broadcast %cr : i32[ROWS, COLUMNS]
      %at = add %fb, %cc : i32[ROWS, COLUMNS]
      %ap = add_ptr %ab, %at : ptr<const f32>[ROWS, COLUMNS]
      %v = load %ap : f32[ROWS, COLUMNS]
      %ur = reshape %u : f32[1, COLUMNS]
      %ub = broadcast %ur : f32[ROWS, COLUMNS]
      %n = fma %v, %ub, %acc : f32[ROWS, COLUMNS]
IN_LOOP
      yield %n
    }
    %t = reduce %sums {axis = 1, commutative} : f32[ROWS] (%p: f32, %q: f32) {
      %r = add %p, %q : f32
      yield %r
    }
    %yb = broadcast %y : ptr<f32>[ROWS]
    %yp = add_ptr %yb, %i : ptr<f32>[ROWS]
    store %yp, %t
  })";
  const auto replace = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) text.replace(at, from.size(), to);
  };
  replace("ROWS", std::to_string(bm));
  replace("COLUMNS", std::to_string(bk));
  replace("IN_LOOP", in_loop);
  return text;
}

}  // namespace

TEST_CASE("plan: small tiles that a loop carries, or loads in one nest and reads in another, are in registers") {
  // The sums and the part of x.
  CHECK(tiles_in_registers(matvec(4, 16)) == 2);
  CHECK(tiles_in_registers(matvec(8, 32)) == 2);
  // 32 vectors are too many, 16 with 4 more beside them, and 16 of a processor with 16 registers.
  CHECK(tiles_in_registers(matvec(8, 64)) == 0);
  CHECK(tiles_in_registers(matvec(4, 64)) == 0);
  CHECK(tiles_in_registers(matvec(8, 16), 8) == 0);
  CHECK(tiles_in_registers(matvec(4, 16), 8) == 2);
}

TEST_CASE("plan: a tile that an op on whole buffers reads, or that lanes read apart, is in memory") {
  CHECK(tiles_in_registers(matvec(4, 16,
                                  "    %f = flip %n {axis = 1} : f32[4, 16]\n    %yb2 = broadcast %y : ptr<f32>[4, 16]\n"
                                  "    store %yb2, %f")) == 1);
  CHECK(tiles_in_registers(matvec(4, 16,
                                  "    %f = permute %n {axes = [1, 0]} : f32[16, 4]\n    %yb2 = broadcast %y : ptr<f32>[16, 4]\n"
                                  "    store %yb2, %f")) == 1);
}

}  // namespace tilewright::backend::host
