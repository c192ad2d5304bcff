// Offsets in shared memory: within bounds, reused in a ring, and an error if there is no room.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "passes/all_passes.h"
#include "passes/plans/lowering_plans.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"
#include "tilewright/error.h"

namespace tilewright::passes {

namespace {

/// Conversions of f64 tiles, each through shared memory as a whole.
ir::Function conversions(int log2_elements, int count) {
  std::string reg, back;
  for (int i = 0; i < log2_elements - 7; ++i) {
    reg += fmt::format("{}[{}]", i ? ", " : "", 1 << i);
    back += fmt::format("{}[{}]", i ? ", " : "", 128 << i);
  }
  const auto threads = [&](int first) {
    std::string s;
    for (int i = 0; i < 7; ++i) s += fmt::format("{}[{}]", i == 0 ? "lane = [" : i == 5 ? "], warp = [" : ", ", first << i);
    return s + "]";
  };
  const int n = 1 << log2_elements;
  std::string text =
      fmt::format("kernel @k(%x: ptr<f64>) {{\n  layout #0 [{0}] {{register = [{1}], {2}}}\n  layout #1 [{0}] {{register = [{3}], {4}}}\n",
                  n, reg, threads(1 << (log2_elements - 7)), back, threads(1));
  text += fmt::format("  %b = broadcast %x : ptr<f64>[{0}] #0\n  %v0 = load %b : f64[{0}] #0\n", n);
  for (int i = 0; i < count; ++i) text += fmt::format("  %v{} = convert_layout %v{} : f64[{}] #{}\n", i + 1, i, n, (i + 1) % 2);
  return ir::parse(text + "}\n", "conversions.tile").functions.at(0);
}

ir::TargetDesc target(int shared_bytes) {
  ir::TargetDesc t;
  t.name = "sm_80";
  t.kind = ir::TargetDesc::Kind::nvptx;
  t.sm = 80;
  t.shared_bytes = shared_bytes;
  return t;
}

std::vector<std::int64_t> places(ir::Function& f, int shared_bytes) {
  PlanCache plans;
  allocate_shared(f, {.target = target(shared_bytes), .plans = &plans});
  std::vector<std::int64_t> all;
  f.walk([&](ir::OpId id) {
    if (f.kind(id) == ir::OpKind::convert_layout_) all.push_back(f.attr(id, ir::AttrName::shared));
  });
  return all;
}

}  // namespace

TEST_CASE("allocate_shared: small scratch lies side by side, and comes round again beyond 8 KiB") {
  ir::Function f = conversions(9, 4);  // 4 KiB each
  CHECK(places(f, 64 * 1024) == std::vector<std::int64_t>{0, 4096, 0, 4096});
  CHECK(LoweringPlans(f, 4).shared_bytes(f) == 8192);
}

TEST_CASE("allocate_shared: a program takes little more than its largest op") {
  ir::Function f = conversions(12, 3);  // 32 KiB each
  CHECK(places(f, 64 * 1024) == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("allocate_shared: what does not fit is refused at its line, with what there is") {
  ir::Function f = conversions(14, 1);  // 128 KiB, which go through 64 KiB piece by piece
  CHECK_THROWS_WITH_AS(
      places(f, 48 * 1024),
      "conversions.tile:6:9: error: an exchange of f64[16384] between threads takes 65536 bytes of shared memory; a program of "
      "sm_80 has at most 49152: use smaller tiles",
      Error);
  CHECK(places(f, 64 * 1024) == std::vector<std::int64_t>{0});
}

TEST_CASE("allocate_shared: a buffer that does not fit is refused by its tile and stages, with what to lower") {
  const ir::Module m = ir::parse(R"(kernel @k(%zero: i32, %x: f32) {
  layout #0 [128] {register = [[32], [64]], lane = [[1], [2], [4], [8], [16]]}
  layout #1 [128] {offset = [[1], [2], [4], [8], [16], [32], [64]]}
  %v = broadcast %x : f32[128] #0
  %a = alloc_buffer : buffer<4, f32>[128] #1
  %b = alloc_buffer : buffer<1, f32>[128] #1
  %s = buffer_slot %a, %zero : buffer<1, f32>[128] #1
  buffer_store %b, %v
  buffer_store %s, %v
}
)",
                                 "buffers.tile");
  ir::Function f = m.functions.at(0);
  CHECK_THROWS_WITH_AS(
      places(f, 1024),
      "buffers.tile:5:8: error: a buffer of 4 stages of f32[128] takes 2048 bytes of shared memory; a program of sm_80 has "
      "at most 1024: use smaller tiles, or lower num_stages",
      Error);
  CHECK_THROWS_WITH_AS(places(f, 2048),
                       "buffers.tile:6:8: error: a buffer of f32[128] takes 512 bytes of shared memory beside 2048 bytes of buffers; a "
                       "program of sm_80 has at most 2048: use smaller tiles, or lower num_stages",
                       Error);
}

TEST_CASE("allocate_shared: nothing to do without exchanges") {
  ir::Function f = conversions(9, 0);
  PlanCache plans;
  CHECK_FALSE(allocate_shared(f, {.target = target(64 * 1024), .plans = &plans}));
  CHECK(LoweringPlans(f, 4).shared_bytes(f) == 0);
}

}  // namespace tilewright::passes
