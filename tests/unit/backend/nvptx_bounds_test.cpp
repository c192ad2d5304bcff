// Checked mode in PTX: accesses first look up their buffer and keep their width; without checked mode there is no such code.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/backend/ptx_assembler.h"

namespace tilewright::backend {

using testing::checked_ptx;
using testing::compile_for;
using testing::count;

namespace {

constexpr const char* kCopy = R"(kernel @k(%x: ptr<const f32> {divisible_by = 16}, %y: ptr<f32> {divisible_by = 16}) {
  %i = arange {lo = 0, hi = 1024} : i32[1024]
  %p = broadcast %x : ptr<const f32>[1024]
  %q = add_ptr %p, %i : ptr<const f32>[1024]
  %v = load %q : f32[1024]
  %r = broadcast %y : ptr<f32>[1024]
  %s = add_ptr %r, %i : ptr<f32>[1024]
  store %s, %v
  %z = constant {value = 1.0} : f32
  %old = atomic_add %y, %z : f32
})";

}  // namespace

TEST_CASE("nvptx bounds: each access of a checked kernel is a site, and stays as wide as it was") {
  const CompiledKernel k = compile_for(kCopy, "sm_80", 4, true);
  const std::string ptx = checked_ptx(k);
  REQUIRE(k.sites.size() == 3);
  CHECK(k.params.size() == 2);
  CHECK(count(ptx, ".param .u64 k_param_2") == 1);
  for (const AccessSite& site : k.sites) {
    CHECK(site.element_bytes == 4);
    CHECK(site.needs_alignment);
  }
  CHECK(k.sites[0].where.line == 5);
  CHECK(!k.sites[0].is_store);
  CHECK(k.sites[0].parameter == 0);
  CHECK(k.sites[1].where.line == 8);
  CHECK(k.sites[1].is_store);
  CHECK(k.sites[1].parameter == 1);
  CHECK(k.sites[2].is_atomic);
  CHECK(count(ptx, "ld.global.v4.b32") == 2);
  CHECK(count(ptx, "st.global.v4.b32") == 2);
  // A loop over buffers for an access, and two words of it for each element: 8 of a thread's tile, twice, and one.
  CHECK(count(ptx, "vote.sync.any") == 3);
  CHECK(count(ptx, "red.relaxed.gpu.global.min.u64") == 17);
}

TEST_CASE("nvptx bounds: many elements of a thread share a loop, by sixteens") {
  const CompiledKernel k = compile_for(kCopy, "sm_80", 1, true);
  CHECK(count(checked_ptx(k), "vote.sync.any") == 2 + 2 + 1);
}

TEST_CASE("nvptx bounds: a kernel that is not checked, or accesses nothing, takes no parameter for it") {
  const CompiledKernel plain = compile_for(kCopy, "sm_80");
  CHECK(plain.sites.empty());
  const std::string ptx = checked_ptx(plain);
  CHECK(count(ptx, "k_param_2") == 0);
  CHECK(count(ptx, "vote") == 0);
  const CompiledKernel idle = compile_for("kernel @k(%n: i32) {\n  device_print %n {text = \"{}\"}\n}", "sm_80", 4, true);
  CHECK(idle.sites.empty());
  CHECK(count(checked_ptx(idle), ".param .u64") == 1);  // the parameter of the print
}

}  // namespace tilewright::backend
