// Schedules of pipelined loops: what is chosen is right, and each way to make it wrong is found.
#include "passes/pipeline/loop_schedule.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::passes {

namespace {

/// Tiles that are copied, read from their buffers, and added or multiplied.
constexpr const char* kSum = R"(
kernel @sum(%x: ptr<const f32> {divisible_by = 16}, %z: ptr<f32>, %n: i32) {
  layout #0 [128] {register = [[1], [2]], lane = [[4], [8], [16], [32], [64]]}
  layout #1 [128] {offset = [[1], [2], [4], [8], [16], [32], [64]]}
  %r = arange {lo = 0, hi = 128} : i32[128] #0
  %xb = broadcast %x : ptr<const f32>[128] #0
  %zero = constant {value = 0.0} : f32[128] #0
  %lo = constant {value = 0} : i32
  %step = constant {value = 128} : i32
  %sum = for %lo, %n, %step, %zero : f32[128] #0 (%i: i32, %acc: f32[128] #0) {
    %ib = broadcast %i : i32[128] #0
    %o = add %ib, %r : i32[128] #0
    %p = add_ptr %xb, %o : ptr<const f32>[128] #0
    %v = load %p : f32[128] #0
    %b = alloc_buffer : buffer<1, f32>[128] #1
    buffer_store %b, %v
    %y = buffer_load %b : f32[128] #0
    %w = mul %y, %y : f32[128] #0
    %s = add %acc, %w : f32[128] #0
    yield %s
  }
  %zb = broadcast %z : ptr<f32>[128] #0
  store %zb, %sum
}
)";

struct Scheduled {
  ir::Function f = ir::parse(kSum, "sum.tile").functions.at(0);
  OpId loop;
  PipelinedLoads found;
  LoopSchedule schedule;

  explicit Scheduled(int slots = 3, int spare = 0) {
    f.walk([&](OpId id) {
      if (f.kind(id) == OpKind::for_) loop = id;
    });
    Rewriter rw(f);
    found = find_pipelined_loads(rw, loop, LoopStores(f, loop), true);
    schedule = schedule_loop(f, loop, found, slots, spare);
  }
  LoopSchedule::Entry& of(OpKind kind) {
    for (OpId id : f.ops(f.region(loop)))
      if (f.kind(id) == kind) return schedule.ops.at(id);
    FAIL("no such op");
    return schedule.ops.begin()->second;
  }
  std::string errors() const { return fmt::format("{}", fmt::join(schedule_errors(f, loop, found, schedule), "\n")); }
};

}  // namespace

TEST_CASE("loop_schedule: copies run ahead by all slots but one") {
  for (int slots : {2, 3, 4, 7}) {
    Scheduled s(slots);
    CAPTURE(slots);
    REQUIRE(s.found.loads.size() == 1);
    CHECK(s.errors() == "");
    CHECK(s.schedule.last_stage - s.of(OpKind::load_).stage == slots - 1);
    CHECK(s.of(OpKind::buffer_load_).stage == s.schedule.last_stage);
  }
}

TEST_CASE("loop_schedule: with a spare slot copies run ahead by one iteration less") {
  for (int slots : {3, 4, 7}) {
    Scheduled s(slots, 1);
    CAPTURE(slots);
    CHECK(s.errors() == "");
    CHECK(s.schedule.last_stage - s.of(OpKind::load_).stage == slots - 2);
  }
  Scheduled s(4);
  s.schedule.spare = 2;
  CHECK(s.errors().find("load: it is copied 3 iterations ahead, with 4 slots") == 0);
}

TEST_CASE("loop_schedule: an op without a stage, and a value that is not there yet, are errors") {
  Scheduled s;
  s.of(OpKind::mul_).order = 0;
  CHECK(s.errors() ==
        "mul of stage 2, order 0 uses buffer_load of stage 2, order 1: it is not there yet\n"
        "mul of stage 2, order 0 uses buffer_load of stage 2, order 1: it is not there yet");
  s = Scheduled();
  s.of(OpKind::mul_).stage = 1;
  CHECK(s.errors().find("mul of stage 1, order 1 uses buffer_load of stage 2, order 1: it is not there yet") == 0);
  s = Scheduled();
  s.of(OpKind::add_ptr_).stage = 1;
  CHECK(s.errors() == "load of stage 0, order 0 uses add_ptr of stage 1, order 0: it is not there yet");
  s = Scheduled();
  s.schedule.ops.erase(s.schedule.ops.find(s.found.loads[0].load));
  CHECK(s.errors() == "load: it has no stage");
}

TEST_CASE("loop_schedule: a value that is neither copied nor computed anew is kept for one iteration") {
  Scheduled s(4);
  s.of(OpKind::buffer_load_).stage = 2;
  CHECK(s.errors() == "");
  s.of(OpKind::buffer_load_).stage = 1;
  CHECK(s.errors().find("mul of stage 3, order 1 uses buffer_load of stage 1, order 1: a value is kept for one iteration") == 0);
}

TEST_CASE("loop_schedule: a slot that is written too early, or read too early, is an error") {
  Scheduled s;
  s.schedule.wait_order = 1;  // the slot is that of the iteration before, whose readers only the wait holds back
  CHECK(s.errors() == "load: its slot is written before the wait for those that read it in the iteration before");
  s = Scheduled();
  s.schedule.wait_order = 2;
  CHECK(s.errors().find("buffer_load: it reads a slot before the wait for its copies") != std::string::npos);
  // Copies three iterations ahead write the slot that the iteration reads: they may begin when all threads have read it.
  s = Scheduled();
  s.schedule.last_stage = 3;
  for (auto& [id, entry] : s.schedule.ops)
    if (entry.stage == 2) entry.stage = 3;
  CHECK(s.errors() == "load: its slot is written before the wait for buffer_load, which reads it");
  s.schedule.wait_order = 2;
  for (OpKind k : {OpKind::load_, OpKind::buffer_store_, OpKind::alloc_buffer_}) s.of(k).order = 2;
  CHECK(s.errors() == "");
  s.schedule.last_stage = 4;
  for (auto& [id, entry] : s.schedule.ops)
    if (entry.stage == 3) entry.stage = 4;
  CHECK(s.errors() == "load: it is copied 4 iterations ahead, with 3 slots");
}

}  // namespace tilewright::passes
