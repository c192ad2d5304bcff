// Access plans: the width of accesses for a layout, and a lower cost for whole sectors.
#include "passes/plans/access_plan.h"

#include <doctest/doctest.h>

#include "tileir/layout/layout_builders.h"
#include "tileir/op_kind.h"
#include "tileir/text/parser.h"

namespace tilewright::passes {

using ir::HardwareDim;
using ir::LinearLayout;

namespace {

/// The info of the first load of a kernel.
AccessInfo info_of(const ir::Function& f) {
  AccessInfo info;
  const AxisInfoAnalysis axes(f);
  f.walk([&](ir::OpId id) {
    if (f.kind(id) == ir::OpKind::load_) info = access_info(f, id, axes);
  });
  return info;
}

AccessInfo contiguous_floats(int divisible_by) {
  return info_of(ir::parse("kernel @k(%x: ptr<const f32> {divisible_by = " + std::to_string(divisible_by) + R"(}) {
  %i = arange {lo = 0, hi = 1024} : i32[1024]
  %b = broadcast %x : ptr<const f32>[1024]
  %p = add_ptr %b, %i : ptr<const f32>[1024]
  %v = load %p : f32[1024]
})",
                           "test")
                     .functions.at(0));
}

LinearLayout blocked(int log2_vector) {
  const int order[] = {0};
  return ir::blocked_layout({10}, log2_vector, order, 2);
}

}  // namespace

TEST_CASE("access_plan: vectors are as wide as alignment, registers and 16 bytes allow") {
  CHECK(vector_bits(contiguous_floats(16), blocked(3)) == std::vector<int>{0, 1});
  CHECK(vector_bits(contiguous_floats(64), blocked(2)) == std::vector<int>{0, 1});
  CHECK(vector_bits(contiguous_floats(16), blocked(1)) == std::vector<int>{0});
  CHECK(vector_bits(contiguous_floats(8), blocked(2)) == std::vector<int>{0});
  CHECK(vector_bits(contiguous_floats(4), blocked(2)).empty());
  CHECK(vector_bits(contiguous_floats(16), blocked(0)).empty());
}

TEST_CASE("access_plan: the bits of a vector may be any registers, but nobody else's") {
  LinearLayout l({10});
  for (std::uint32_t basis : {4u, 2u, 1u}) l.add_basis(HardwareDim::reg, basis);
  for (int i = 0; i < 5; ++i) l.add_basis(HardwareDim::lane, 8u << i);
  for (int i = 0; i < 2; ++i) l.add_basis(HardwareDim::warp, 256u << i);
  CHECK(vector_bits(contiguous_floats(16), l) == std::vector<int>{2, 1});
  // A lane that also exchanges neighbours: no two elements have the same order in all threads.
  std::vector<std::uint32_t> lanes = l.bases(HardwareDim::lane);
  lanes[0] |= 1;
  l.set_bases(HardwareDim::lane, lanes);
  CHECK(vector_bits(contiguous_floats(16), l).empty());
}

TEST_CASE("access_plan: whole sectors once are cheapest, four elements of 4 bytes a thread") {
  const AccessInfo aligned = contiguous_floats(16), odd = contiguous_floats(4);
  CHECK(access_cost(aligned, blocked(2)) < access_cost(aligned, blocked(0)));
  CHECK(access_cost(aligned, blocked(2)) < access_cost(aligned, blocked(3)));
  CHECK(access_cost(odd, blocked(0)) < access_cost(odd, blocked(2)));
  // Copies in other warps are loaded again: here each warp loads everything.
  CHECK(access_cost(aligned, ir::replicated_layout({10}, 2)) > access_cost(aligned, blocked(2)));
}

TEST_CASE("access_plan: a mask that changes between neighbours allows no vectors") {
  const auto masked = [](const char* n) {
    return info_of(ir::parse(std::string("kernel @k(%x: ptr<const f32> {divisible_by = 16}, %n: i32") + n + R"() {
  %i = arange {lo = 0, hi = 1024} : i32[1024]
  %nb = broadcast %n : i32[1024]
  %m = lt %i, %nb : i1[1024]
  %b = broadcast %x : ptr<const f32>[1024]
  %p = add_ptr %b, %i : ptr<const f32>[1024]
  %v = load %p, %m : f32[1024]
})",
                             "test")
                       .functions.at(0));
  };
  CHECK(masked(" {divisible_by = 16}").log2_widest == 2);
  CHECK(masked(" {divisible_by = 2}").log2_widest == 1);
  CHECK(masked("").log2_widest == 0);
}

}  // namespace tilewright::passes
