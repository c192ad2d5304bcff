// Lowering plans are made once for a function, stay cached through passes that keep plans (passes.def), and are made anew for another
// function.
#include "passes/plans/lowering_plans.h"

#include <doctest/doctest.h>

#include "passes/pass_manager.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::passes {

namespace {

/// A reduce of 256 elements: on 4 warps it exchanges partial results through shared memory.
constexpr const char* kSum = R"(kernel @sum(%x: ptr<f32>) {
  layout #0 [256] {register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[64], [128]]}
  %i = arange {lo = 0, hi = 256} : i32[256] #0
  %f = cast %i : f32[256] #0
  %s = reduce %f {axis = 0, commutative} : f32 (%p: f32, %q: f32) {
    %t = add %p, %q : f32
    yield %t
  }
  store %x, %s
})";
/// Two conversions: #0 to #1 exchanges elements within a warp (by shuffles), #1 to #2 between warps (through shared memory).
constexpr const char* kConversions = R"(kernel @convert(%x: ptr<i32>) {
  layout #0 [128] {lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]}
  layout #1 [128] {lane = [[2], [1], [4], [8], [16]], warp = [[32], [64]]}
  layout #2 [128] {lane = [[4], [8], [16], [32], [64]], warp = [[1], [2]]}
  %i = arange {lo = 0, hi = 128} : i32[128] #0
  %a = convert_layout %i : i32[128] #1
  %b = convert_layout %a : i32[128] #2
  %xb = broadcast %x : ptr<i32>[128] #2
  store %xb, %b
})";

ir::Function function(const char* text) { return ir::parse(text, "test.tile").functions.at(0); }

std::vector<OpId> ops_of_kind(const ir::Function& f, OpKind kind) {
  std::vector<OpId> found;
  f.walk([&](OpId id) {
    if (f.kind(id) == kind) found.push_back(id);
  });
  return found;
}

PassContext gpu(PlanCache& plans) {
  PassContext context;
  context.target.kind = ir::TargetDesc::Kind::nvptx;
  context.target.sm = 80;
  context.target.shared_bytes = 64 * 1024;
  context.plans = &plans;
  return context;
}

}  // namespace

TEST_CASE("lowering_plans: scratch and barriers of conversions follow from the layouts") {
  const ir::Function f = function(kConversions);
  const LoweringPlans plans(f, 4);  // warps
  const std::vector<OpId> conversions = ops_of_kind(f, OpKind::convert_layout_);
  REQUIRE(conversions.size() == 2);
  CHECK(plans.conversion(conversions[0]).route.has_value());
  CHECK(plans.scratch_bytes(conversions[0]) == 0);
  CHECK_FALSE(plans.conversion(conversions[1]).route.has_value());
  CHECK(plans.scratch_bytes(conversions[1]) == 128 * 4);
  CHECK(plans.has_internal_barrier(conversions[1]));
  CHECK_FALSE(plans.has_plan(ops_of_kind(f, OpKind::arange_)[0]));
}

TEST_CASE("lowering_plans: the passes that allocate share what one of them has made") {
  ir::Function f = function(kSum);
  PlanCache cache;
  const PassContext context = gpu(cache);
  const OpId reduce = ops_of_kind(f, OpKind::reduce_).at(0);
  // The plan as it is after allocate_shared, the first pass.
  const ReducePlan* made = nullptr;
  const std::string_view names[] = {"allocate_shared", "insert_barriers"};
  run_passes(f, names, context, {.verify_each = true, .dump = [&](const std::string& stage, const ir::Function& at) {
                                   if (stage != "00_traced" && !made) made = &cache.get(at, 4).reduce(reduce);
                                 }});
  CHECK(&cache.get(f, 4).reduce(reduce) == made);
  CHECK(cache.get(f, 4).scratch_bytes(reduce) > 0);
  CHECK(cache.get(f, 4).shared_bytes(f) == f.attr(reduce, AttrName::shared) + cache.get(f, 4).scratch_bytes(reduce));
}

TEST_CASE("lowering_plans: plans of another function are dropped") {
  ir::Function sum = function(kSum), convert = function(kConversions);
  PlanCache cache;
  const std::string_view names[] = {"allocate_shared"};
  run_passes(sum, names, gpu(cache));
  run_passes(convert, names, gpu(cache));
  CHECK(cache.get(convert, 4).shared_bytes(convert) == LoweringPlans(convert, 4).shared_bytes(convert));
  CHECK(cache.get(convert, 4).has_plan(ops_of_kind(convert, OpKind::convert_layout_).at(0)));
}

}  // namespace tilewright::passes
