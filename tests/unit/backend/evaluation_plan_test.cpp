// How the host back end fuses loops and shares buffers: which loops it must fuse, and which buffers it must keep separate.
#include "backend/host/evaluation_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::backend::host {

using ir::OpKind;

namespace {

struct Planned {
  explicit Planned(const char* text) : function(ir::parse(text, "test.tile").functions.at(0)), plan(function) {}
  ir::Function function;
  EvaluationPlan plan;

  /// The loop nests of a block, each as the names of its ops.
  std::vector<std::string> nests(BlockId b) const {
    std::vector<std::string> out;
    for (const Step& step : plan.block(b).steps) {
      if (!step.is_loops) continue;
      std::string names;
      for (const Item& item : step.items)
        names += (names.empty() ? "" : " ") + std::string(item.op ? ir::text(function.kind(item.op)) : "fill");
      out.push_back(names);
    }
    return out;
  }
  int copies(BlockId b) const {
    int n = 0;
    for (const Step& step : plan.block(b).steps)
      n += static_cast<int>(
          std::count_if(step.copies.begin(), step.copies.end(), [&](const Copy& c) { return !plan.same_class(c.from, c.to); }));
    return n;
  }
  BlockId loop_body() const {
    BlockId body;
    function.walk([&](OpId id) {
      if (function.kind(id) == OpKind::for_) body = function.region(id);
    });
    return body;
  }
};

}  // namespace

// z = x + y; `attributes`: of the parameter z.
std::string sum_of_two(const std::string& attributes) {
  return "kernel @add(%x: ptr<const f32>, %y: ptr<const f32>, %z: ptr<f32>" + attributes + R"() {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<const f32>[64]
    %xp = add_ptr %xb, %i : ptr<const f32>[64]
    %yb = broadcast %y : ptr<const f32>[64]
    %yp = add_ptr %yb, %i : ptr<const f32>[64]
    %zb = broadcast %z : ptr<f32>[64]
    %zp = add_ptr %zb, %i : ptr<f32>[64]
    %a = load %xp : f32[64]
    %b = load %yp : f32[64]
    %s = add %a, %b : f32[64]
    store %zp, %s
  })";
}

TEST_CASE("plan: a store shares the nest that makes its value if its memory is known to be distinct from what is read") {
  const Planned apart(sum_of_two(" {disjoint}").c_str());
  CHECK(apart.nests(apart.function.body()) == std::vector<std::string>{"load load add store"});
  const Planned unknown(sum_of_two("").c_str());
  CHECK(unknown.nests(unknown.function.body()) == std::vector<std::string>{"load load add", "store"});
}

// x[i] = 2 x[i], or another update of x; `reads` and `writes` compute %r and %w from the pointer %p: ptr<f32> and the index %i.
std::string update(const std::string& addresses, const std::string& shape = "64") {
  return "kernel @update(%p: ptr<f32>, %n: i32) {\n" + addresses + "    %a = load %r : f32[" + shape + "]\n    %s = add %a, %a : f32[" +
         shape + "]\n    store %w, %s\n  }";
}

TEST_CASE("plan: a store to the addresses that its nest reads shares the nest if each index has an address of its own") {
  const auto nests = [](const std::string& text) {
    const ir::Function f = ir::parse(text, "test.tile").functions.at(0);
    const passes::AxisInfoAnalysis info(f);
    const EvaluationPlan plan(f, MemoryAxes{info, 16});
    return plan.block(f.body()).steps.size();
  };
  const std::string row = R"(    %i = arange {lo = 0, hi = 64} : i32[64]
    %at = broadcast %n : i32[64]
    %j = add %at, %i : i32[64]
    %b = broadcast %p : ptr<f32>[64]
)";
  const std::string same = "    %r = add_ptr %b, %j : ptr<f32>[64]\n";
  const auto all_write = [](std::string text, const std::string& to) {
    text.replace(text.find("store %w"), 8, "store " + to);
    return text;
  };
  CHECK(nests(all_write(update(row + same), "%r")) == 1);
  // The next element, and half of the elements twice.
  CHECK(nests(update(row + same + R"(    %one = constant {value = 1} : i32[64]
    %k = add %j, %one : i32[64]
    %w = add_ptr %b, %k : ptr<f32>[64]
)")) == 2);
  CHECK(nests(all_write(update(row + R"(    %two = constant {value = 2} : i32[64]
    %k = div %i, %two : i32[64]
    %r = add_ptr %b, %k : ptr<f32>[64]
)"),
                        "%r")) == 2);
  // Rows of 16 elements that begin every 16, every 8, and every n elements.
  const auto rows = [](const std::string& distance) {
    return R"(    %i = arange {lo = 0, hi = 16} : i32[16]
    %ir = reshape %i : i32[16, 1]
    %ic = reshape %i : i32[1, 16]
    %b = broadcast %p : ptr<f32>[16, 16]
    %c = broadcast %ic : i32[16, 16]
)" + distance +
           R"(    %m = mul %ir, %d : i32[16, 1]
    %mb = broadcast %m : i32[16, 16]
    %k = add %mb, %c : i32[16, 16]
    %r = add_ptr %b, %k : ptr<f32>[16, 16]
)";
  };
  CHECK(nests(all_write(update(rows("    %d = constant {value = 16} : i32[16, 1]\n"), "16, 16"), "%r")) == 1);
  CHECK(nests(all_write(update(rows("    %d = constant {value = 8} : i32[16, 1]\n"), "16, 16"), "%r")) == 2);
  CHECK(nests(all_write(update(rows("    %d = broadcast %n : i32[16, 1]\n"), "16, 16"), "%r")) == 2);
}

// x[i, j] w[j] + x[i + 1, j] v[j], with the rows read where they are used.
std::string tiles_and_rows(const char* between) {
  return std::string(R"(kernel @taps(%x: ptr<const f32>, %w: ptr<const f32>, %v: ptr<const f32>, %z: ptr<f32>) {
    %j = arange {lo = 0, hi = 64} : i32[64]
    %i = arange {lo = 0, hi = 8} : i32[8]
    %c = constant {value = 64} : i32[8]
    %ic = mul %i, %c : i32[8]
    %jr = reshape %j : i32[1, 64]
    %ir = reshape %ic : i32[8, 1]
    %jb = broadcast %jr : i32[8, 64]
    %ib = broadcast %ir : i32[8, 64]
    %at = add %ib, %jb : i32[8, 64]
    %xb = broadcast %x : ptr<const f32>[8, 64]
    %xp = add_ptr %xb, %at : ptr<const f32>[8, 64]
    %zb = broadcast %z : ptr<f32>[8, 64]
    %zp = add_ptr %zb, %at : ptr<f32>[8, 64]
    %wb = broadcast %w : ptr<const f32>[64]
    %wp = add_ptr %wb, %j : ptr<const f32>[64]
    %vb = broadcast %v : ptr<const f32>[64]
    %vp = add_ptr %vb, %j : ptr<const f32>[64]
    %a = load %xp : f32[8, 64]
    %f = load %wp : f32[64]
    %fr = reshape %f : f32[1, 64]
    %fb = broadcast %fr : f32[8, 64]
    %p = mul %a, %fb : f32[8, 64]
)") + between +
         R"(    %next = constant {value = 64} : i32[8, 64]
    %yp = add_ptr %xp, %next : ptr<const f32>[8, 64]
    %b = load %yp : f32[8, 64]
    %g = load %vp : f32[64]
    %gr = reshape %g : f32[1, 64]
    %gb = broadcast %gr : f32[8, 64]
    %s = fma %b, %gb, %p : f32[8, 64]
    store %zp, %s
  })";
}

TEST_CASE("plan: rows are loaded before tiles, which share a nest with what is computed of both") {
  const Planned p(tiles_and_rows("").c_str());
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load load", "load mul load fma", "store"});
}

TEST_CASE("plan: a row is not loaded before a store in front of it") {
  const Planned p(tiles_and_rows("    store %zp, %p\n").c_str());
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load", "load mul", "store", "load", "load", "fma store"});
}

TEST_CASE("plan: a value computed from a reduction starts the next nest") {
  const Planned p(R"(kernel @normalise(%x: ptr<f32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<f32>[64]
    %xp = add_ptr %xb, %i : ptr<f32>[64]
    %a = load %xp : f32[64]
    %m = reduce %a {axis = 0, commutative} : f32 (%p: f32, %q: f32) {
      %r = maximum %p, %q : f32
      yield %r
    }
    %mb = broadcast %m : f32[64]
    %d = sub %a, %mb : f32[64]
    %t = reduce %d {axis = 0, commutative} : f32 (%p: f32, %q: f32) {
      %r = add %p, %q : f32
      yield %r
    }
    %tb = broadcast %t : f32[64]
    %o = mul %d, %tb : f32[64]
    store %xp, %o
  })");
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load reduce", "sub reduce", "mul store"});
}

TEST_CASE("plan: a load or store along another axis than the last one is transposed, and shares no nest") {
  const char* text = R"(kernel @transpose(%x: ptr<f32>, %y: ptr<f32>) {
    %r = arange {lo = 0, hi = 32} : i32[32]
    %n = constant {value = 64} : i32[32, 64]
    %w = constant {value = 32} : i32[32, 64]
    %c = arange {lo = 0, hi = 64} : i32[64]
    %rc = reshape %r : i32[32, 1]
    %cr = reshape %c : i32[1, 64]
    %i = broadcast %rc : i32[32, 64]
    %j = broadcast %cr : i32[32, 64]
    %in = mul %i, %n : i32[32, 64]
    %jw = mul %j, %w : i32[32, 64]
    %from = add %i, %jw : i32[32, 64]
    %to = add %in, %j : i32[32, 64]
    %xb = broadcast %x : ptr<f32>[32, 64]
    %yb = broadcast %y : ptr<f32>[32, 64]
    %xp = add_ptr %xb, %from : ptr<f32>[32, 64]
    %yp = add_ptr %yb, %to : ptr<f32>[32, 64]
    %a = load %xp : f32[32, 64]
    %b = load %yp : f32[32, 64]
    %s = add %a, %b : f32[32, 64]
    store %yp, %s
    store %xp, %s
    %one = constant {value = 1.0} : f32[32, 64]
    store %xp, %one
  })";
  const ir::Function f = std::move(ir::parse(text, "test.tile").functions.at(0));
  const passes::AxisInfoAnalysis axes(f);
  for (int lanes : {4, 8, 16}) {
    const EvaluationPlan plan(f, MemoryAxes{axes, lanes});
    const auto& steps = plan.block(f.body()).steps;
    REQUIRE(steps.size() == 4);
    for (int i : {0, 2, 3}) {  // the load, the store of the sum, and that of ones, of which no buffer is read
      const Step& step = steps[static_cast<std::size_t>(i)];
      CHECK(step.is_interchanged);
      CHECK(step.transposed == (i == 3 ? std::nullopt : std::optional(TransposedBlock{lanes, lanes})));
      CHECK(step.items.size() == 1);
      CHECK(step.extents == std::vector<std::int64_t>{64, 32});
      CHECK(step.dims_of_axes == AxisMap{1, 0, -1, -1, -1});
    }
    CHECK(!steps[1].is_interchanged);
  }
  const EvaluationPlan without_memory(f);
  for (const Step& step : without_memory.block(f.body()).steps) CHECK(!step.is_interchanged);
}

TEST_CASE("plan: a permute that is read against the order of its operand's buffer has a buffer of its own") {
  const char* text = R"(kernel @permutes(%x: ptr<f32>) {
    %i = arange {lo = 0, hi = 2048} : i32[2048]
    %o = reshape %i : i32[2, 32, 32]
    %xb = broadcast %x : ptr<f32>[2, 32, 32]
    %xp = add_ptr %xb, %o : ptr<f32>[2, 32, 32]
    %a = load %xp : f32[2, 32, 32]
    %turned = permute %a {axes = [0, 2, 1]} : f32[2, 32, 32]
    %in_rows = permute %a {axes = [1, 0, 2]} : f32[32, 2, 32]
    %j = arange {lo = 0, hi = 32} : i32[32]
    %line = reshape %j : i32[1, 1, 32]
    %all = broadcast %line : i32[2, 32, 32]
    %indices = permute %all {axes = [0, 2, 1]} : i32[2, 32, 32]
    %short = permute %a {axes = [1, 2, 0]} : f32[32, 32, 2]
    %back = permute %turned {axes = [0, 2, 1]} : f32[2, 32, 32]
  })";
  const ir::Function f = std::move(ir::parse(text, "test.tile").functions.at(0));
  const passes::AxisInfoAnalysis axes(f);
  const EvaluationPlan plan(f, MemoryAxes{axes, 16});
  std::vector<Schedule> schedules;
  f.walk([&](OpId id) {
    if (f.kind(id) == OpKind::permute_) schedules.push_back(plan.schedule(f.result(id)));
  });
  REQUIRE(schedules.size() == 5);
  CHECK(schedules[0] == Schedule::buffered);
  CHECK(schedules[1] == Schedule::alias);
  CHECK(schedules[2] == Schedule::inlined);
  CHECK(schedules[3] == Schedule::alias);  // two elements along the last axis
  CHECK(schedules[4] == Schedule::buffered);
}

TEST_CASE("plan: blocks fill vectors as far as a tile does, and have 16 bytes each way at least") {
  CHECK(transposed_block(16, 4, 64, 64) == TransposedBlock{16, 16});
  CHECK(transposed_block(16, 2, 64, 64) == TransposedBlock{32, 16});
  CHECK(transposed_block(16, 1, 64, 64) == TransposedBlock{64, 16});
  CHECK(transposed_block(16, 8, 64, 64) == TransposedBlock{8, 8});
  CHECK(transposed_block(16, 4, 8, 64) == TransposedBlock{8, 8});
  CHECK(transposed_block(16, 4, 64, 4) == TransposedBlock{16, 4});
  CHECK(transposed_block(8, 1, 64, 64) == TransposedBlock{32, 16});
  CHECK(transposed_block(4, 8, 64, 64) == TransposedBlock{2, 2});
  CHECK(transposed_block(16, 4, 64, 2) == std::nullopt);
  CHECK(transposed_block(16, 1, 8, 64) == std::nullopt);
}

TEST_CASE("plan: reduces in order and in any order share the nest of what they reduce") {
  const Planned p(R"(kernel @both(%x: ptr<f32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<f32>[64]
    %xp = add_ptr %xb, %i : ptr<f32>[64]
    %a = load %xp : f32[64]
    %m = reduce %a {axis = 0} : f32 (%p: f32, %q: f32) {
      %r = add %p, %q : f32
      yield %r
    }
    %n = reduce %a {axis = 0, commutative} : f32 (%p: f32, %q: f32) {
      %r = maximum %p, %q : f32
      yield %r
    }
    %d = add %m, %n : f32
    store %x, %d
  })");
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load reduce reduce"});
}

TEST_CASE("plan: a load after a store, and a second store, never share its nest if nothing is known of their addresses") {
  const Planned p(R"(kernel @order(%x: ptr<i32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<i32>[64]
    %xp = add_ptr %xb, %i : ptr<i32>[64]
    %a = load %xp : i32[64]
    store %xp, %i
    %b = load %xp : i32[64]
    %c = add %a, %b : i32[64]
    store %xp, %c
    store %xp, %a
  })");
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load", "store", "load add", "store", "store"});
}

TEST_CASE("plan: an accumulator is updated in place, by dot and by element-wise ops") {
  const Planned by_dot(R"(kernel @dot(%n: i32, %o: ptr<f32>) {
    %z = constant {value = 0} : i32
    %one = constant {value = 1} : i32
    %x = constant {value = 2.0} : f32[16, 16]
    %init = constant {value = 0.0} : f32[16, 16]
    %r = for %z, %n, %one, %init : f32[16, 16] (%k: i32, %acc: f32[16, 16]) {
      %d = dot %x, %x, %acc : f32[16, 16]
      yield %d
    }
    %ob = broadcast %o : ptr<f32>[16, 16]
    store %ob, %r
  })");
  CHECK(by_dot.copies(by_dot.loop_body()) == 0);
  CHECK(by_dot.copies(by_dot.function.body()) == 0);
  const Planned by_add(R"(kernel @sum(%n: i32, %x: ptr<const f32>, %o: ptr<f32>) {
    %z = constant {value = 0} : i32
    %one = constant {value = 1} : i32
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<const f32>[64]
    %xp = add_ptr %xb, %i : ptr<const f32>[64]
    %init = constant {value = 0.0} : f32[64]
    %r = for %z, %n, %one, %init : f32[64] (%k: i32, %acc: f32[64]) {
      %v = load %xp : f32[64]
      %s = add %acc, %v : f32[64]
      yield %s
    }
    %ob = broadcast %o : ptr<f32>[64]
    store %ob, %r
  })");
  CHECK(by_add.copies(by_add.loop_body()) == 0);
}

TEST_CASE("plan: carried tiles that others still read are copied") {
  const Planned p(R"(kernel @swap(%n: i32, %o: ptr<f32>) {
    %z = constant {value = 0} : i32
    %one = constant {value = 1} : i32
    %a = constant {value = 0.0} : f32[8, 8]
    %b = constant {value = 1.0} : f32[8, 8]
    %r, %s = for %z, %n, %one, %a, %b : f32[8, 8], f32[8, 8] (%k: i32, %x: f32[8, 8], %y: f32[8, 8]) {
      %t = permute %x {axes = [1, 0]} : f32[8, 8]
      %u = add %t, %y : f32[8, 8]
      yield %y, %u
    }
    %ob = broadcast %o : ptr<f32>[8, 8]
    store %ob, %r
    store %ob, %s
  })");
  CHECK(p.copies(p.loop_body()) == 2);
}

// A loop in a loop, of which both carry tiles. `inner`: the ops of the outer loop's body, whose carried tiles are %x and %y.
int copies_around_inner_loop(const std::string& inner) {
  const Planned p((R"(kernel @nested(%n: i32, %o: ptr<f32>) {
    %z = constant {value = 0} : i32
    %one = constant {value = 1} : i32
    %a = constant {value = 0.0} : f32[32, 32]
    %b = constant {value = 1.0} : f32[32, 32]
    %ob = broadcast %o : ptr<f32>[32, 32]
    %r, %s = for %z, %n, %one, %a, %b : f32[32, 32], f32[32, 32] (%i: i32, %x: f32[32, 32], %y: f32[32, 32]) {
)" + inner + R"(
    }
    store %ob, %r
    store %ob, %s
  })")
                      .c_str());
  BlockId outer;
  p.function.walk([&](OpId id) {
    if (p.function.kind(id) == OpKind::for_ && p.function.op(id).parent == p.function.body()) outer = p.function.region(id);
  });
  return p.copies(outer);
}

TEST_CASE("plan: a loop continues in the buffer of the tile that it begins with, unless others read that tile") {
  const std::string loop = R"(
    %t = for %z, %n, %one, %x : f32[32, 32] (%j: i32, %c: f32[32, 32]) {
      %d = add %c, OTHER : f32[32, 32]
      yield %d
    })";
  const auto of_other = [&](const std::string& other) {
    std::string text = loop;
    return text.replace(text.find("OTHER"), 5, other);
  };
  CHECK(copies_around_inner_loop(of_other("%y") + "yield %t, %y") == 0);
  // What the tile was before is read in the loop, behind it, or yielded.
  CHECK(copies_around_inner_loop(of_other("%x") + "yield %t, %y") > 0);
  CHECK(copies_around_inner_loop(of_other("%y") + "store %ob, %x yield %t, %y") > 0);
  CHECK(copies_around_inner_loop(of_other("%y") + "yield %t, %x") > 0);
  CHECK(copies_around_inner_loop("store %ob, %x " + of_other("%y") + "yield %t, %y") == 0);
  // The loop ends with the tiles in the other order.
  CHECK(copies_around_inner_loop(R"(
    %t, %u = for %z, %n, %one, %y, %x : f32[32, 32], f32[32, 32] (%j: i32, %c: f32[32, 32], %e: f32[32, 32]) {
      %d = add %c, %e : f32[32, 32]
      yield %d, %e
    }
    yield %t, %u)") > 0);
}

TEST_CASE("plan: index arithmetic lies in no buffer") {
  const Planned p(R"(kernel @indices(%x: ptr<f32>, %n: i32) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %c = reshape %i : i32[64, 1]
    %nb = broadcast %n : i32[64, 1]
    %m = mul %c, %nb : i32[64, 1]
    %w = broadcast %m : i32[64, 64]
    %r = reshape %i : i32[1, 64]
    %v = broadcast %r : i32[64, 64]
    %o = add %w, %v : i32[64, 64]
    %xb = broadcast %x : ptr<f32>[64, 64]
    %xp = add_ptr %xb, %o : ptr<f32>[64, 64]
    %one = constant {value = 1.0} : f32[64, 64]
    store %xp, %one
  })");
  p.function.walk([&](OpId id) {
    for (ValueId r : p.function.op(id).results) CHECK_FALSE(p.plan.has_buffer(r));
  });
}

TEST_CASE("plan: addresses made of loaded indices are computed where they are used, not stored as tiles") {
  const Planned p(R"(kernel @rows(%x: ptr<f32>, %ids: ptr<i32>, %out: ptr<f32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %ib = broadcast %ids : ptr<i32>[64]
    %ip = add_ptr %ib, %i : ptr<i32>[64]
    %id = load %ip : i32[64]
    %n = constant {value = 64} : i32[64]
    %row = mul %id, %n : i32[64]
    %c = reshape %row : i32[64, 1]
    %w = broadcast %c : i32[64, 64]
    %r = reshape %i : i32[1, 64]
    %v = broadcast %r : i32[64, 64]
    %o = add %w, %v : i32[64, 64]
    %xb = broadcast %x : ptr<f32>[64, 64]
    %xp = add_ptr %xb, %o : ptr<f32>[64, 64]
    %a = load %xp : f32[64, 64]
    %ob = broadcast %out : ptr<f32>[64, 64]
    %op = add_ptr %ob, %o : ptr<f32>[64, 64]
    store %op, %a
  })");
  CHECK(p.nests(p.function.body()) == std::vector<std::string>{"load mul", "load", "store"});
  std::vector<OpKind> stored;
  p.function.walk([&](OpId id) {
    for (ValueId r : p.function.op(id).results)
      if (p.plan.has_buffer(r)) stored.push_back(p.function.kind(id));
  });
  CHECK(stored == std::vector{OpKind::mul_, OpKind::load_});
}

TEST_CASE("plan: volatile scalar loads stay in order, though the later one could be made earlier") {
  const Planned p(R"(kernel @flags(%p: ptr<i32>, %x: ptr<i32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %xb = broadcast %x : ptr<i32>[64]
    %xp = add_ptr %xb, %i : ptr<i32>[64]
    %v = load %xp : i32[64]
    %s = reduce %v {axis = 0, commutative} : i32 (%a: i32, %b: i32) {
      %c = add %a, %b : i32
      yield %c
    }
    %late = add_ptr %p, %s : ptr<i32>
    %first = load %late {is_volatile} : i32
    %second = load %p {is_volatile} : i32
    %both = sub %first, %second : i32
    store %p, %both
  })");
  std::vector<OpId> loads;
  for (const Step& step : p.plan.block(p.function.body()).steps)
    for (OpId id : step.scalars_before)
      if (p.function.kind(id) == OpKind::load_) loads.push_back(id);
  REQUIRE(loads.size() == 2);
  CHECK(p.function.defined_by(p.function.operand(loads[0], 0), OpKind::add_ptr_));
}

TEST_CASE("plan: an atomic for its effect alone has no buffer for what was before") {
  const Planned p(R"(kernel @counts(%p: ptr<i32>) {
    %i = arange {lo = 0, hi = 64} : i32[64]
    %pb = broadcast %p : ptr<i32>[64]
    %pp = add_ptr %pb, %i : ptr<i32>[64]
    %alone = atomic_add %pp, %i : i32[64]
    %old = atomic_add %pp, %i : i32[64]
    store %pp, %old
  })");
  std::vector<bool> stored;
  p.function.walk([&](OpId id) {
    if (p.function.kind(id) == OpKind::atomic_add_) stored.push_back(p.plan.has_buffer(p.function.result(id)));
  });
  CHECK(stored == std::vector<bool>{false, true});
}

}  // namespace tilewright::backend::host
